"""What models cost (Q1, Q2): by day and job, by model, person and service; prices and budgets for who connects models.

One's own; for staff everybody's, or one person's with ``?user=``.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Sum as SumOf
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import formats, timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.accounts.models import User
from apps.connections.models import ConnectedModel
from apps.core.responses import answer_file
from apps.costs.budgets import (
    Price,
    find_paused,
    get_budget_state,
    list_spent,
    read_budgets,
    save_budgets,
    save_prices,
    start_of_month,
)
from apps.costs.models import MAX_CURRENCY_CHARS, MAX_MODEL_CHARS, Budget, ModelCall, ModelPrice
from apps.costs.sums import REPLYING, Key, Period, Sum, add_up, get_plan, list_sums
from apps.panel.figures import Chart
from apps.panel.links import link_page
from apps.panel.model_servers import may_connect
from apps.panel.owned import sees_everybody
from apps.panel.pages import PanelPage

# Days that can be shown, today last.
PERIODS = (7, 30, 90, 365)

# Of models, people and services, those that cost most; the file has all.
MOST_SHOWN = 50

_COLOURS = {
    ModelCall.Job.REPLY: "var(--chart-grey)",
    ModelCall.Job.TOOL_ROUND: "#c2b280",
    ModelCall.Job.EXTRACTION: "var(--chart-teal)",
    ModelCall.Job.SUMMARY: "var(--chart-blue)",
    ModelCall.Job.EMBEDDING: "#a07bd0",
}

_COLUMNS = (
    *("day", "service", "user", "job", "model", "calls", "estimated_calls"),
    *("tokens_in", "tokens_cached", "tokens_out", "seconds", "cost", "currency"),
)


class CostPage(PanelPage):
    """GET ``days``."""

    title = gettext_lazy("Cost")
    template_name = "panel/costs/page.html"

    @property
    def account(self) -> User | None:
        """Whose cost it is, None for everybody's."""
        return None if sees_everybody(self.request) and not self.request.GET.get("user") else self.owner

    def get(self, request: HttpRequest) -> HttpResponse:
        return self._show(request)

    def _show(self, request: HttpRequest, *, status: int = 200, plan: PlanForm | None = None) -> HttpResponse:
        period, days = read_period(request)
        account, currency = self.account, get_plan().currency
        daily = list_sums(["day", "job"], account=account, period=period)
        by_model = _list_largest("model", account=account, period=period)
        is_priced, budgets = any(one.cost for one in daily), read_budgets()
        staff_tables = list_account_tables(period, currency) if sees_everybody(request) and account is None else ()
        return self.render(
            request,
            status=status,
            account=account,
            days=days,
            periods=PERIODS,
            currency=currency,
            is_priced=is_priced,
            tiles=_make_tiles(daily, currency),
            charts=[_draw(daily, period, is_priced=is_priced, currency=currency)] if daily else [],
            tables=[
                _tabulate(_("By job"), _sum_by_job(daily), currency),
                _tabulate(_("By model"), [(one.key[0], one) for one in by_model], currency),
                *staff_tables,
            ],
            estimated=sum(one.estimated for one in daily),
            unpriced=[one.key[0] for one in by_model if one.unpriced] if is_priced or not budgets.are_none else [],
            budget=_tell_budget(account, currency, budget=budgets.installation),
            export_link=link_page("cost_export", user=account if sees_everybody(request) else None, days=days),
            plan=(plan or PlanForm()) if may_connect(request) and account is None else None,
        )


class CostPlanPage(CostPage):
    """POST: prices and budgets, all of them or none; only with the permission to connect models."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> HttpResponse:
        if not may_connect(request):
            raise PermissionDenied
        plan = PlanForm(request.POST)
        if not plan.is_valid():
            return self._show(request, status=400, plan=plan)
        plan.save()
        messages.success(request, _("Prices and budgets were saved."))
        return HttpResponseRedirect(f"{link_page('cost')}#")  # to the top, where it says so: not to the form's place


class CostExport(CostPage):
    """GET ``days``: the same as CSV, a line for each day, service, person, job and model."""

    http_method_names = ["get"]

    def get(self, request: HttpRequest) -> FileResponse:  # type: ignore[override]
        period, _days = read_period(request)
        sums = list_sums(["day", "service", "user", "job", "model"], account=self.account, period=period)
        names = _name_accounts({key for one in sums for key in one.key[1:3]})
        lines = _write_lines(sums, names=names, currency=get_plan().currency)
        return answer_file(lines, name="cost", content_type="text/csv; charset=utf-8", suffix="csv")


def read_period(request: HttpRequest) -> tuple[Period, int]:
    """Return the days that are asked for, and how many."""
    asked = request.GET.get("days", "")
    days = int(asked) if asked in map(str, PERIODS) else 30
    today = timezone.localdate()
    return Period(today - timedelta(days=days - 1), today, timezone.get_current_timezone()), days


def _write_lines(sums: Sequence[Sum], *, names: Mapping[int | None, str], currency: str) -> Iterator[bytes]:
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(_COLUMNS)
    for one in sums:
        day, service, user, job, model = one.key
        about = [day.isoformat(), names.get(service, ""), names.get(user, ""), job, model]
        figures = [one.calls, one.estimated, one.tokens_in, one.tokens_cached, one.tokens_out, one.ms / 1000]
        cost = "" if one.unpriced else _as_text(one.cost)
        writer.writerow([*map(_defuse, about), *figures, cost, currency])
        yield buffer.getvalue().encode()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue().encode()


def _defuse(text: str) -> str:
    """A cell that a spreadsheet takes for a text, whatever somebody calls themselves."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _name_accounts(keys: set[int | None]) -> dict[int | None, str]:
    known = [key for key in keys if key is not None]
    people = User.objects.filter(pk__in=known).values_list("pk", "username", "external_id", "service_id")
    return {pk: external_id if service else username for pk, username, external_id, service in people}


# Figures


def show_cost(amount: Decimal, currency: str) -> str:
    """Return an amount as it is read: two places, four of a small one."""
    least = Decimal("0.0001")
    if 0 < amount < least:
        return f"< {show_cost(least, currency)}"
    return f"{currency} {amount:,.{4 if 0 < amount < Decimal('0.1') else 2}f}".strip()


def _show_tokens(count: int) -> str:
    return f"{count:,}"


def _sum_by_job(daily: Sequence[Sum]) -> list[tuple[str, Sum]]:
    found = [(job, [one for one in daily if one.key[1] == job]) for job in ModelCall.Job]
    return [(str(job.label), add_up(sums, job)) for job, sums in found if sums]


def _make_tiles(daily: Sequence[Sum], currency: str) -> list[dict[str, Any]]:
    replies = add_up(one for one in daily if one.key[1] in REPLYING)
    memory = add_up(one for one in daily if one.key[1] not in REPLYING)
    total = add_up([replies, memory])

    def show(one: Sum) -> tuple[str, str]:
        tokens = _show_tokens(one.tokens_in + one.tokens_out)
        if not total.cost:
            return tokens, _("tokens")
        return show_cost(one.cost, currency), _("%(count)s tokens") % {"count": tokens}

    share = total.tokens_cached / total.tokens_in if total.tokens_in else 0
    tiles = [
        (_("In all"), *show(total), "payments"),
        (_("What memory cost"), *show(memory), "neurology"),
        (_("What replies cost"), *show(replies), "forum"),
        (_("Read from the cache"), f"{share:.0%}", _("of the tokens that were sent"), "cached"),
    ]
    return [dict(zip(("label", "value", "note", "icon"), tile, strict=True)) for tile in tiles]


def _draw(daily: Sequence[Sum], period: Period, *, is_priced: bool, currency: str) -> Chart:
    days = period.days
    found = {one.key: round(float(one.cost), 6) if is_priced else one.tokens_in + one.tokens_out for one in daily}
    series = [
        (str(job.label), _COLOURS[job], [found.get((day, job), 0) for day in days])
        for job in ModelCall.Job
        if any(one.key[1] == job for one in daily)
    ]
    title = _("Cost by day and job") if is_priced else _("Tokens by day and job")
    return Chart("bar", f"{title} ({currency})" if is_priced and currency else title, days, series, "", precision=None)


@dataclass(frozen=True, slots=True)
class Table:
    """Sums by one thing: the title of its column, and rows of a name, its page, and figures as they are shown."""

    title: str
    rows: list[dict[str, Any]]


def _tabulate(
    title: str, sums: Sequence[tuple[str, Sum]], currency: str, links: Mapping[Any, str] | None = None
) -> Table:
    rows = [
        {
            "name": name,
            "link": (links or {}).get(one.key[0], ""),
            "calls": _show_tokens(one.calls),
            "tokens_in": _show_tokens(one.tokens_in),
            "cached": _show_tokens(one.tokens_cached),
            "tokens_out": _show_tokens(one.tokens_out),
            "seconds": formats.number_format(one.ms / one.calls / 1000 if one.calls else 0, 1),
            "cost": "–" if one.unpriced and not one.cost else show_cost(one.cost, currency),
        }
        for name, one in sums
    ]
    return Table(title, rows)


def _list_largest(key: Key, *, account: User | None, period: Period) -> list[Sum]:
    """The sums of what cost most, or took most tokens."""
    sums = list_sums([key], account=account, period=period)
    return sorted(sums, key=lambda one: (-one.cost, -one.tokens_in - one.tokens_out))[:MOST_SHOWN]


def list_account_tables(period: Period, currency: str) -> Iterator[Table]:
    """Yield what was for each person, and for each service; those that cost most first."""
    keys: list[tuple[Key, str, str]] = [
        ("user", _("By person"), _("erased data")),
        ("service", _("By service"), _("no service")),
    ]
    for key, title, nobody in keys:
        sums = _list_largest(key, account=None, period=period)
        if any(one.key[0] is not None for one in sums):
            names = _name_accounts({one.key[0] for one in sums})
            links = {pk: f"{link_page('cost')}?user={pk}" for pk in names}
            yield _tabulate(title, [(names.get(one.key[0], nobody), one) for one in sums], currency, links)


def _tell_budget(account: User | None, currency: str, *, budget: Decimal | None) -> dict[str, Any] | None:
    """What is said of the budgets: how a person or, with this `budget`, everybody stands, and whose work waits."""
    now = timezone.now()
    paused: str
    if account is None:
        waiting = find_paused(now=now)
        paused = "installation" if waiting.everybody else "accounts" if waiting else ""
        amount, count = budget, len(waiting.accounts)
        spent = (
            Decimal(0) if amount is None else sum((row[2] for row in list_spent(since=start_of_month(now))), Decimal(0))
        )
    else:
        state = get_budget_state(account, now=now)
        paused, amount, spent, count = state.paused, state.amount, state.spent, 0
    if amount is None and not paused:
        return None
    return {
        "paused": paused,
        "count": count,
        "amount": None if amount is None else show_cost(amount, currency),
        "spent": show_cost(spent, currency),
        "share": float(min(spent / amount, Decimal(1))) if amount else 1.0,
    }


# Prices and budgets

_AMOUNT = forms.DecimalField(required=False, min_value=0, max_digits=14, decimal_places=6)
_CURRENCY = forms.CharField(required=False, max_length=MAX_CURRENCY_CHARS)
_MODEL = forms.CharField(max_length=MAX_MODEL_CHARS)
_NAME = forms.CharField()


class PlanForm:
    """Prices by model, and budgets. Fields come in lists, an entry for each model and for each account."""

    def __init__(self, data: Any = None) -> None:
        self.problems: list[str] = []
        self._prices: dict[str, Price | None] = {}
        self._accounts: dict[User, Decimal | None] = {}
        plan = get_plan()
        budgets = Budget.objects.order_by("account__username").values_list("account__username", "amount")
        self.budgeted: dict[str, Decimal] = dict(budgets)
        if data is None:
            self.currency = plan.currency
            self.installation, self.person = _as_text(plan.installation), _as_text(plan.person)
            self.prices = [_describe_price(name, row) for name, row in _list_models().items()]
            self.accounts = [(name, _as_text(amount)) for name, amount in self.budgeted.items()]
            return
        self.currency = data.get("currency", "").strip()
        self.installation, self.person = data.get("installation", ""), data.get("person", "")
        columns = [data.getlist(name) for name in ("model", "input", "cached", "output")]
        rows = zip(*columns, strict=False)
        self.prices = [dict(zip(("model", "input", "cached", "output"), row, strict=True)) for row in rows]
        accounts = zip(data.getlist("account"), data.getlist("amount"), strict=False)
        self.accounts = [(name.strip(), amount) for name, amount in accounts if name.strip() or amount.strip()]

    def is_valid(self) -> bool:
        """Read what was entered; `problems` says what cannot be."""
        self._read(self.currency, _("Currency"), field=_CURRENCY)
        self._installation = self._read(self.installation, _("Whole installation"))
        self._person = self._read(self.person, _("Each person"))
        for row in self.prices:
            self._read(row["model"], _("Model"), field=_MODEL)
            paid, cached, made = (self._read(row[name], row["model"]) for name in ("input", "cached", "output"))
            zero, is_empty = Decimal(0), (paid, cached, made) == (None, None, None)
            self._prices[row["model"]] = None if is_empty else Price(paid or zero, made or zero, cached)
        given = [(self._read(name, _("Username"), field=_NAME), amount) for name, amount in self.accounts]
        names = [name for name, _amount in given if name]
        found = {user.username: user for user in User.objects.filter(username__in=names)}
        for name, amount in given:
            if name in found:
                self._accounts[found[name]] = self._read(amount, name)
            elif name:
                self.problems.append(_("No user has this username.") + f" {name}")
        return not self.problems

    def save(self) -> None:
        """Store what `is_valid` has read."""
        save_prices(currency=self.currency, prices=self._prices)
        save_budgets(installation=self._installation, person=self._person, accounts=self._accounts)

    def _read(self, text: str, label: str, *, field: forms.Field = _AMOUNT) -> Any:
        try:
            return field.clean(text.strip())
        except forms.ValidationError as error:
            self.problems.append(f"{label}: {' '.join(error.messages)}")
            return None


def _list_models() -> dict[str, ModelPrice | None]:
    """The models that are connected, that have a price or were called most lately, by name. Clients may name any."""
    priced = {row.model: row for row in ModelPrice.objects.all()}
    connected = ConnectedModel.objects.values_list("name", flat=True)
    since = timezone.now() - timedelta(days=max(PERIODS))
    lately = ModelCall.objects.filter(created_at__gte=since).values("model").annotate(times=SumOf("calls"))
    called = lately.order_by("-times", "model").values_list("model", flat=True)[:MOST_SHOWN]
    return {name: priced.get(name) for name in sorted({*priced, *connected, *called})}


def _describe_price(name: str, row: ModelPrice | None) -> dict[str, str]:
    figures = {"input": row.input, "cached": row.cached, "output": row.output} if row else {}
    return {"model": name, **{key: _as_text(figures.get(key)) for key in ("input", "cached", "output")}}


def _as_text(amount: Decimal | None) -> str:
    return "" if amount is None else format(amount.normalize(), "f")
