"""The overview (M5, M6): what is remembered, how it grows and is used, in pictures that lead to the lists behind them.

One's own; for staff everybody's, or one person's with ``?user=``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import BooleanField, ExpressionWrapper, Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.accounts.selectors import get_settings
from apps.chat.models import Turn
from apps.conversations.models import Session, Work
from apps.memory.models import AtomicMemory, Change, LongTermMemory, Status
from apps.panel.dashboard import figures
from apps.panel.dashboard.charts import Chart, Series
from apps.panel.dashboard.scope import PERIODS, Scope
from apps.panel.dashboard.tiles import Found, list_tiles
from apps.panel.labels import label_category, label_emotion
from apps.panel.links import link_list
from apps.panel.owned import choose_owner, sees_everybody
from apps.panel.work.progress import summarize_backlog
from apps.profile.models import ProfileProposal

LAST_CHANGES = 6
EMOTIONS_SHOWN = 8
"""Of the emotions over time: those found most often; a chart with more bands cannot be read."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a stacked bar. `share`: of the longest bar, from 0 to 1."""

    status: str
    label: str
    count: int
    share: float
    link: str


@dataclass(frozen=True, slots=True)
class Stack:
    """A stacked bar: the memories of one category by status."""

    label: str
    total: int
    link: str
    parts: list[Part]


def add_dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Put the figures of the overview into the context of the panel's first page (django-unfold calls this)."""
    chosen = choose_owner(request) if "user" in request.GET else None
    everybody = sees_everybody(request) and chosen is None
    owner = None if everybody else (chosen or choose_owner(request))
    named = owner if sees_everybody(request) else None
    scope = _read_scope(request, owner)
    found = Found(
        counts=figures.count_memories(scope),
        growth=figures.count_growth(scope),
        activity=figures.count_activity(scope),
        latency=figures.measure_latency(scope),
        proposals=scope.rows(ProfileProposal).filter(status="pending").count(),
        sessions=scope.rows(Session).count(),
        backlog=summarize_backlog(owner),
        days=scope.days,
    )
    context |= {
        "title": _("Overview"),
        "owner": owner,
        "named": named,
        "sees_everybody": sees_everybody(request),
        "days": scope.days,
        "zone": scope.zone,
        "periods": PERIODS,
        "empty": not found.counts and not found.sessions,
        "tiles": list_tiles(found, user=named),
        "stacks": _stack(found.counts, named),
        "statuses": Status.choices,
        "charts": _draw(scope, found, figures.count_emotions(scope), named),
        "most_used": _rank(figures.list_most_used(scope)),
        "backlog": found.backlog,
        "work_link": link_list(Work, user=named),
        "tables": _scale(figures.measure_tables()) if everybody else [],
        "changes": _read_changes(scope),
        "changes_link": link_list(Change, user=named),
    }
    return context


def _read_scope(request: HttpRequest, owner: User | None) -> Scope:
    asked = request.GET.get("days", "")
    days = int(asked) if asked in map(str, PERIODS) else PERIODS[0]
    zone = get_settings(owner).zone
    return Scope(user=owner, zone=zone, today=timezone.localdate(timezone=zone), days=days)


def _stack(counts: figures.Counts, named: User | None) -> list[Stack]:
    longest = max((sum(statuses.values()) for statuses in counts.values()), default=0)
    stacks = []
    for category in ("preference", "fact", "pattern", figures.ATOMIC):
        statuses = counts.get(category, {})
        model = AtomicMemory if category == figures.ATOMIC else LongTermMemory
        filters = {} if category == figures.ATOMIC else {"category": category}
        parts = [
            Part(
                status=status,
                label=str(Status(status).label),
                count=statuses[status],
                share=statuses[status] / longest,
                link=link_list(model, user=named, **filters, status=status),
            )
            for status in Status.values
            if statuses.get(status)
        ]
        link = link_list(model, user=named, **filters, status="all")
        stacks.append(Stack(label=label_category(category), total=sum(statuses.values()), link=link, parts=parts))
    return stacks


def _draw(scope: Scope, found: Found, emotions: dict[str, list[int]], named: User | None) -> list[Chart]:
    shown = list(emotions.items())[:EMOTIONS_SHOWN]
    return [
        Chart(
            name="growth",
            kind="bar",
            title=_("New memories"),
            days=scope.list_days(),
            series=[
                Series(_("Long-term"), "teal", found.growth.long_term),
                Series(_("Atomic"), "blue", found.growth.atomic),
            ],
            link=link_list(LongTermMemory, user=named),
        ),
        Chart(
            name="uses",
            kind="line",
            title=_("Replies and recalled memories"),
            days=scope.list_days(),
            series=[
                Series(_("Replies"), "grey", found.activity.turns),
                Series(_("Recalled memories"), "teal", found.activity.uses),
            ],
            link=link_list(Turn, user=named),
        ),
        Chart(
            name="emotions",
            kind="bar",
            title=_("Emotions"),
            days=scope.list_days(),
            series=[Series(label_emotion(name), f"emotion-{name}", numbers) for name, numbers in shown],
            link=link_list(Turn, user=named),
        ),
    ]


def _rank(used: list[figures.UsedMemory]) -> list[dict[str, Any]]:
    most = max((memory.uses for memory in used), default=1)
    rows = []
    for memory in used:
        table, text = memory.named or (None, None)
        link = reverse(f"admin:memory_{table._meta.model_name}_change", args=[memory.id]) if table else ""
        rows.append({"text": text, "uses": memory.uses, "share": round(memory.uses / most, 3), "link": link})
    return rows


def _scale(tables: list[figures.TableSize]) -> list[dict[str, Any]]:
    largest = max((table.bytes for table in tables), default=1)
    return [{"table": table, "share": round(table.bytes / largest, 3)} for table in tables]


def _read_changes(scope: Scope) -> list[Change]:
    rows = scope.rows(Change).order_by("-id").select_related("user", "actor").defer("before", "after")
    rows = rows.annotate(is_kept=ExpressionWrapper(Q(after__isnull=False), BooleanField()))  # its object is not deleted
    return list(rows[:LAST_CHANGES])
