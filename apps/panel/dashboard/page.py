"""The overview (M5, M6): what is new, changed, waiting and used, in words; how much is remembered, in pictures.

One's own; for staff everybody's, or one person's with ``?user=``. All of it leads to the lists behind.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.utils import formats, timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.accounts.models import User
from apps.chat.models import Turn
from apps.conversations.models import Session, Work
from apps.core.words import find_emotion, word
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
from apps.panel.dashboard.figures import ATOMIC, PERIODS, Activity, Counts, Growth, Latency, Scope
from apps.panel.jobs import Progress, summarize_backlog
from apps.panel.links import link_list, link_memory, link_page
from apps.panel.owned import choose_owner, sees_everybody
from apps.panel.review.queue import Kind, count_pending

# Of the emotions over time: those found most often; a chart with more bands cannot be read.
EMOTIONS_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart over `days`, "bar" (stacked) or "line", as django-unfold draws it. `link`: the list behind it.

    ``series``: of each its name, its colour, or a CSS variable for it, and a number for each day.
    """

    kind: str
    title: str
    days: list[date]
    series: list[tuple[str, str, list[int]]]
    link: str

    @property
    def empty(self) -> bool:
        return not any(any(numbers) for _label, _colour, numbers in self.series)

    @property
    def totals(self) -> list[tuple[str, int]]:
        """Each series with its sum: the chart in one sentence."""
        return [(label, sum(numbers)) for label, _colour, numbers in self.series]

    @property
    def rows(self) -> list[tuple[date, list[int]]]:
        """The days on which something was, newest first, with the number of each series."""
        found = zip(self.days, zip(*(numbers for _label, _colour, numbers in self.series), strict=True), strict=True)
        return [(day, list(numbers)) for day, numbers in found if any(numbers)][::-1]

    @property
    def data(self) -> str:
        """What Chart.js draws, as JSON."""
        datasets = [
            {"label": label, "data": numbers, "backgroundColor": colour, "borderColor": colour, "maxBarThickness": 14}
            for label, colour, numbers in self.series
        ]
        return json.dumps(
            {"labels": [formats.date_format(day, "MONTH_DAY_FORMAT") for day in self.days], "datasets": datasets}
        )

    @property
    def options(self) -> str:
        """How Chart.js draws it, as JSON."""
        stacked = self.kind == "bar"
        ticks = {"color": "#8b949e", "maxTicksLimit": 5, "precision": 0}
        return json.dumps(
            {
                "animation": False,
                "maintainAspectRatio": False,
                "interaction": {"mode": "index", "intersect": False},
                "elements": {"line": {"borderWidth": 2, "cubicInterpolationMode": "monotone"}, "point": {"radius": 0}},
                "scales": {
                    "x": {"stacked": stacked, "grid": {"display": False}, "ticks": {**ticks, "maxRotation": 0}},
                    "y": {"stacked": stacked, "beginAtZero": True, "grid": {}, "ticks": ticks},
                },
                "plugins": {"legend": {"position": "bottom", "align": "start", "labels": {**ticks, "boxWidth": 10}}},
            }
        )


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


@dataclass(frozen=True, slots=True)
class Found:
    """What was counted, of the last `days` days where it is about time. `proposals`: to the profile, undecided."""

    counts: Counts
    growth: Growth
    activity: Activity
    latency: Latency
    proposals: int
    sessions: int
    backlog: Progress
    days: int

    @property
    def waiting(self) -> int:
        """What somebody has to accept or reject."""
        return self.proposals + sum(statuses.get(Status.PENDING, 0) for statuses in self.counts.values())


@dataclass(frozen=True, slots=True)
class Tile:
    """One figure, with the list behind it. `tone`: its colour where it asks for something."""

    label: str
    value: str
    note: str
    link: str
    icon: str
    tone: str = ""


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
        "changes_link": link_list(Change, user=named),
    }
    return context


def _read_scope(request: HttpRequest, owner: User | None) -> Scope:
    asked = request.GET.get("days", "")
    days = int(asked) if asked in map(str, PERIODS) else PERIODS[0]
    zone = timezone.get_current_timezone()
    return Scope(user=owner, zone=zone, today=timezone.localdate(timezone=zone), days=days)


def list_tiles(found: Found, *, user: User | None) -> list[Tile]:
    """Return the figures at the top, in the order in which they stand; their lists are narrowed to `user`."""
    number = formats.number_format

    def lately(numbers: list[int]) -> str:
        return _("+%(count)s in %(days)s days") % {"count": number(sum(numbers)), "days": found.days}

    active = {category: statuses.get(Status.ACTIVE, 0) for category, statuses in found.counts.items()}
    atomic, long_term = active.pop(ATOMIC, 0), sum(active.values())
    replies, uses, failed = sum(found.activity.turns), sum(found.activity.uses), found.backlog.failed
    told = ngettext("%(count)s reply in %(days)s days", "%(count)s replies in %(days)s days", replies)
    latency = found.latency
    slow = _("95%% within %(time)s") % {"time": _show_duration(latency.p95)} if latency.turns else _("No replies yet")
    of_work = {"state__exact": Work.State.FAILED} if failed else {}
    turns = link_list(Turn, user=user)
    return [
        Tile(_("Long-term memories"), number(long_term), lately(found.growth.long_term),
             link_list(LongTermMemory, user=user), "neurology"),
        Tile(_("Atomic memories"), number(atomic), lately(found.growth.atomic),
             link_list(AtomicMemory, user=user), "scatter_plot"),
        Tile(_("Conversations"), number(found.sessions), told % {"count": number(replies), "days": found.days},
             link_list(Session, user=user), "forum"),
        Tile(_("Recalled"), number(uses), _("times in %(days)s days") % {"days": found.days}, turns, "manage_search"),
        Tile(_("Reply time"), _show_duration(latency.p50) if latency.turns else "–", slow, turns, "timer"),
        Tile(_("Waiting for review"), number(found.waiting),
             _("Accept or reject") if found.waiting else _("Nothing to review"),
             link_page("review", user=user), "rule", "amber" if found.waiting else ""),
        Tile(_("Background work"), number(found.backlog.left),
             _("%(count)s failed") % {"count": number(failed)} if failed else _("None failed"),
             link_list(Work, user=user, **of_work), "pending_actions", "red" if failed else ""),
    ]  # fmt: skip


def _show_duration(milliseconds: float) -> str:
    if milliseconds < 1000:
        return _("%(number)s ms") % {"number": formats.number_format(round(milliseconds))}
    return _("%(number)s s") % {"number": formats.number_format(round(milliseconds / 1000, 1))}


def _stack(counts: figures.Counts, named: User | None) -> list[Stack]:
    longest = max((sum(statuses.values()) for statuses in counts.values()), default=0)
    stacks = []
    for category in ("preference", "fact", "pattern", ATOMIC):
        statuses = counts.get(category, {})
        model = AtomicMemory if category == ATOMIC else LongTermMemory
        filters = {} if category == ATOMIC else {"category": category}
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
        stacks.append(Stack(word("categories", category), sum(statuses.values()), link, parts))
    return stacks


def _draw(scope: Scope, found: Found, emotions: dict[str, list[int]], named: User | None) -> list[Chart]:
    days, turns = scope.list_days(), link_list(Turn, user=named)
    shown = [(find_emotion(name), numbers) for name, numbers in list(emotions.items())[:EMOTIONS_SHOWN]]
    growth = [
        (_("Long-term"), "var(--chart-teal)", found.growth.long_term),
        (_("Atomic"), "var(--chart-blue)", found.growth.atomic),
    ]
    uses = [
        (_("Replies"), "var(--chart-grey)", found.activity.turns),
        (_("Recalled memories"), "var(--chart-teal)", found.activity.uses),
    ]
    return [
        Chart("bar", _("New memories"), days, growth, link_list(LongTermMemory, user=named)),
        Chart("line", _("Replies and recalled memories"), days, uses, turns),
        Chart("bar", _("Emotions"), days, [(str(one.title), one.colour, numbers) for one, numbers in shown], turns),
    ]


def _rank(used: list[figures.UsedMemory], texts: Mapping[UUID, figures.Named]) -> list[dict[str, Any]]:
    most = max((memory.uses for memory in used), default=1)
    rows = []
    for memory in used:
        named = texts.get(memory.id)
        rows.append(
            {
                "text": named.text if named else None,
                "uses": memory.uses,
                "share": round(memory.uses / most, 3),
                "link": link_memory(named.kind, memory.id) if named else "",
            }
        )
    return rows
