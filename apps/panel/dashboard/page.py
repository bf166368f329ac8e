"""The overview (M5, M6): in words what is new, changed, waiting and used; in pictures how much is remembered and how it
grows. All of it leads to the lists behind.

One's own; for staff everybody's, or one person's with ``?user=``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.chat.models import Turn
from apps.conversations.models import Session, Work
from apps.memory.models import AtomicMemory, Change, LongTermMemory, Status
from apps.panel.dashboard import figures
from apps.panel.dashboard.answers import (
    find_latest,
    find_used,
    list_changed,
    list_failed,
    list_used_ids,
    tell_new,
    tell_used,
    tell_waiting,
)
from apps.panel.dashboard.charts import Chart, Series
from apps.panel.dashboard.scope import PERIODS, Scope
from apps.panel.dashboard.tiles import Found, list_tiles
from apps.panel.labels import label_category, label_emotion
from apps.panel.links import link_list, link_page
from apps.panel.owned import choose_owner, sees_everybody
from apps.panel.review.queue import Kind, count_pending
from apps.panel.work.progress import summarize_backlog

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
    pending = count_pending(owner)
    found = Found(
        counts=figures.count_memories(scope),
        growth=figures.count_growth(scope),
        activity=figures.count_activity(scope),
        latency=figures.measure_latency(scope),
        proposals=pending[Kind.PROFILE],
        sessions=scope.rows(Session).count(),
        backlog=summarize_backlog(owner),
        days=scope.days,
    )
    latest, used, most_used = find_latest(scope), find_used(scope), figures.list_most_used(scope)
    texts = figures.read_texts(scope, {*latest.ids, *list_used_ids(used), *(memory.id for memory in most_used)})
    review_link = link_page("review", user=named)
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
        "new": tell_new(latest, texts),
        "changed": list_changed(scope),
        "waiting": tell_waiting(latest, texts, link=review_link),
        "waiting_memories": pending[Kind.LONG_TERM] + pending[Kind.ATOMIC],
        "waiting_proposals": pending[Kind.PROFILE],
        "failed": list_failed(scope) if found.backlog.failed else [],
        "used": tell_used(used, texts),
        "most_used": _rank(most_used, texts),
        "review_link": review_link,
        "memories_link": link_page("memories_changelist", user=named),
        "turns_link": link_list(Turn, user=named),
        "backlog": found.backlog,
        "work_link": link_list(Work, user=named),
        "failed_link": link_list(Work, user=named, state__exact=Work.State.FAILED),
        "tables": _scale(figures.measure_tables()) if everybody else [],
        "changes_link": link_list(Change, user=named),
    }
    return context


def _read_scope(request: HttpRequest, owner: User | None) -> Scope:
    asked = request.GET.get("days", "")
    days = int(asked) if asked in map(str, PERIODS) else PERIODS[0]
    zone = timezone.get_current_timezone()
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


def _rank(used: list[figures.UsedMemory], texts: Mapping[UUID, figures.Named]) -> list[dict[str, Any]]:
    most = max((memory.uses for memory in used), default=1)
    rows = []
    for memory in used:
        named = texts.get(memory.id)
        text = named.text if named else None
        link = reverse(f"admin:memory_{named.model._meta.model_name}_change", args=[memory.id]) if named else ""
        rows.append({"text": text, "uses": memory.uses, "share": round(memory.uses / most, 3), "link": link})
    return rows


def _scale(tables: list[figures.TableSize]) -> list[dict[str, Any]]:
    largest = max((table.bytes for table in tables), default=1)
    return [{"table": table, "share": round(table.bytes / largest, 3)} for table in tables]
