"""Monthly budgets (Q2): while one is spent, the background work that it pays for waits; replies never do.

Work of whom `find_paused` names is not claimed (`apps.conversations.queue`): it stays due, and is done when the next
month begins (UTC), when the budget is raised or when a price falls. Nothing has to be put back.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal

import structlog
from django.db import DatabaseError, transaction
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from apps.accounts.models import User
from apps.core.db import fetch_prepared, fetch_rows
from apps.costs.models import Budget, CostPlan, ModelPrice
from apps.costs.sums import COST, Period, list_sums

logger = structlog.get_logger(__name__)

# How long what was spent is believed: workers ask before each piece of work, and a million calls take a second to sum.
BELIEVED_SECONDS = 60.0

# Models with metrics of their own, most called first: a client may name any, and every label costs memory.
MOST_MODELS = 50

BUDGETS = """
SELECT installation, person, account_id, amount
FROM (SELECT) AS one LEFT JOIN cost_plan ON TRUE LEFT JOIN cost_budget ON TRUE
"""

SPENT = f"""
SELECT call.user_id, call.service_id, COALESCE({COST}, 0)
FROM model_call AS call JOIN model_price AS price ON price.model = call.model
WHERE call.created_at >= %(since)s GROUP BY call.user_id, call.service_id
"""  # noqa: S608 - no value is put into it


@dataclass(frozen=True, slots=True)
class Budgets:
    """All there are. `person`: of each person without one of their own; `accounts`: of persons and of services."""

    installation: Decimal | None = None
    person: Decimal | None = None
    accounts: Mapping[int, Decimal] = field(default_factory=dict)

    @property
    def are_none(self) -> bool:
        """Whether nothing limits anything."""
        return self.installation is None and self.person is None and not self.accounts


@dataclass(frozen=True, slots=True)
class Paused:
    """Whose background work waits: everybody's, or that of these accounts and of the end users of these."""

    everybody: bool = False
    accounts: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        return self.everybody or bool(self.accounts)

    def covers(self, user: User) -> bool:
        """Whether this person's work waits."""
        return self.everybody or user.pk in self.accounts or user.service_id in self.accounts


# Spent in a month: by person and service, each None where there is none.
Spent = Sequence[tuple[int | None, int | None, Decimal]]

NOBODY = Paused()


def decide(budgets: Budgets, spent: Spent) -> Paused:
    """Return who has spent what they may. Pure."""
    accounts: defaultdict[int, Decimal] = defaultdict(Decimal)
    people: defaultdict[int, Decimal] = defaultdict(Decimal)
    for user, service, cost in spent:
        if service is not None:
            accounts[service] += cost
        if user is not None:
            accounts[user] += cost
            people[user] += cost
    over = {account for account, amount in budgets.accounts.items() if accounts[account] >= amount}
    if budgets.person is not None:
        over |= {user for user, cost in people.items() if user not in budgets.accounts and cost >= budgets.person}
    total = sum((cost for _user, _service, cost in spent), Decimal(0))
    return Paused(
        everybody=budgets.installation is not None and total >= budgets.installation, accounts=frozenset(over)
    )


# The budgets and the month that it was found for, what was found, and until when that is believed.
_believed: tuple[object, Paused, float] | None = None


def find_paused(*, now: datetime) -> Paused:
    """Return whose background work waits. One query, and another at most every `BELIEVED_SECONDS` with a budget."""
    global _believed
    budgets = read_budgets()
    if budgets.are_none:
        return NOBODY
    month = start_of_month(now)
    known = _believed
    if known is None or known[0] != (budgets, month) or time.monotonic() > known[2]:
        paused = decide(budgets, list_spent(since=month))
        known = _believed = (budgets, month), paused, time.monotonic() + BELIEVED_SECONDS
    return known[1]


def list_paused(*, now: datetime) -> list[int] | None:
    """Return whose background work waits, end users of services among them; None where everybody's does."""
    paused = find_paused(now=now)
    if paused.everybody or not paused:
        return None if paused else []
    return [*paused.accounts, *User.objects.filter(service__in=paused.accounts).values_list("id", flat=True)]


def forget_paused() -> None:
    """Have this process look again at once."""
    global _believed
    _believed = None


def read_budgets() -> Budgets:
    """Return all budgets. One query."""
    rows = fetch_prepared(BUDGETS, {})
    installation, person, _account, _amount = rows[0]
    return Budgets(installation, person, {account: amount for *_plan, account, amount in rows if account is not None})


def list_spent(*, since: datetime) -> Spent:
    """Return what was spent since then, by person and service. One query."""
    return fetch_rows(SPENT, {"since": since})


def start_of_month(now: datetime) -> datetime:
    """Return when the month of budgets began."""
    return now.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)


@dataclass(frozen=True, slots=True)
class BudgetState:
    """How a person stands this month. `amount`: their own budget or that of each person, None without one; `spent`:
    what they have spent of it; `paused`: whose budget keeps their background work waiting, "" for nobody's.
    """

    amount: Decimal | None
    spent: Decimal
    paused: Literal["", "person", "service", "installation"]


def get_budget_state(user: User, *, now: datetime) -> BudgetState:
    """Return how a person stands. Three queries, four with a budget."""
    budgets, paused = read_budgets(), find_paused(now=now)
    month = start_of_month(now).date()
    sums = list_sums(["user"], account=user, period=Period(month, now.astimezone(UTC).date(), UTC))
    is_service = user.pk in budgets.accounts and any(one.key != (user.pk,) for one in sums)
    own = [one.cost for one in sums if is_service or one.key == (user.pk,)]
    whose: Literal["", "person", "service", "installation"] = ""
    if paused.everybody:
        whose = "installation"
    elif user.pk in paused.accounts:
        whose = "person"
    elif user.service_id in paused.accounts:
        whose = "service"
    return BudgetState(budgets.accounts.get(user.pk, budgets.person), sum(own, Decimal(0)), whose)


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost; `cached`: None is as `input`."""

    input: Decimal
    output: Decimal
    cached: Decimal | None = None


@transaction.atomic
def save_prices(*, currency: str, prices: Mapping[str, Price | None]) -> None:
    """Set the currency of all amounts, and prices by model; None takes one away. Others stay as they are."""
    _save_plan(currency=currency)
    for model, price in prices.items():
        if price is None:
            ModelPrice.objects.filter(model=model).delete()
        else:
            given = {"input": price.input, "output": price.output, "cached": price.cached}
            ModelPrice.objects.update_or_create(model=model, defaults=given)
    forget_paused()


@transaction.atomic
def save_budgets(
    *, installation: Decimal | None, person: Decimal | None, accounts: Mapping[User, Decimal | None]
) -> None:
    """Set the budgets of everybody together and of each person, and those of accounts; None takes one away."""
    _save_plan(installation=installation, person=person)
    for account, amount in accounts.items():
        if amount is None:
            Budget.objects.filter(account=account).delete()
        else:
            Budget.objects.update_or_create(account=account, defaults={"amount": amount})
    forget_paused()


def _save_plan(**values: Any) -> None:
    CostPlan.objects.update_or_create(id=1, defaults=values)


class CostCollector(Collector):
    """What models took this month, by job and model, and whose work waits for a budget: the same in every process."""

    def describe(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """Name them, for the registry; asks no database."""
        by = ["job", "model"]
        yield CounterMetricFamily("jiyi_model_calls", "Calls of models this month", labels=by)
        yield CounterMetricFamily("jiyi_model_seconds", "How long they took", labels=by)
        yield CounterMetricFamily("jiyi_model_tokens", "Their tokens", labels=[*by, "kind"])
        # A lower price lowers it, which a counter must never be.
        yield GaugeMetricFamily("jiyi_model_cost", "What they cost, in the currency of prices", labels=by)
        yield GaugeMetricFamily("jiyi_budget_paused", "Whose work waits for a budget", labels=["whose"])

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """Sum up; without a database these are missing, and the other metrics are reported all the same."""
        now = datetime.now(UTC)
        try:
            month = Period(start_of_month(now).date(), now.date(), UTC)
            sums, paused = list_sums(["job", "model"], account=None, period=month), find_paused(now=now)
        except DatabaseError as error:
            logger.warning("costs_not_summed", cause=type(error).__name__)
            return
        calls, seconds, tokens, cost, waiting = self.describe()
        for one in sorted(sums, key=lambda one: one.calls, reverse=True)[:MOST_MODELS]:
            calls.add_metric(one.key, one.calls)
            seconds.add_metric(one.key, one.ms / 1000)
            cost.add_metric(one.key, float(one.cost))
            for kind in ("in", "out", "cached"):
                tokens.add_metric([*one.key, kind], getattr(one, f"tokens_{kind}"))
        waiting.add_metric(["everybody"], int(paused.everybody))
        waiting.add_metric(["accounts"], len(paused.accounts))
        yield from (calls, seconds, tokens, cost, waiting)
