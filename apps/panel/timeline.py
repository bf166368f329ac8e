"""A person's memories over time, and what was known on a date: everybody sees their own, staff choose whose."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import groupby
from typing import Any, cast
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.accounts.models import Space
from apps.core.times import end_of_day
from apps.core.words import word
from apps.memory.changes.timeline import PastMemory, Step, TimelineLine, read_knowledge, read_timeline
from apps.memory.models import AtomicMemory, LongTermMemory, Status
from apps.panel.links import link_memory, link_message
from apps.panel.owned import sees_everybody
from apps.panel.pages import PanelPage
from apps.panel.texts import read_number
from apps.profile.services import find_profile_at

# Ages below this are drawn evenly.
_NEAR = timedelta(days=2)

_TICKS = tuple(timedelta(days=days) for days in (1, 7, 30, 91, 365, 3 * 365, 10 * 365))

# The least distance of two ticks, as a share: their dates, in the middle of each, are not to overlap.
_APART = 0.18

# That from the beginning, whose date stands right of it, and from now, left of which "today" stands.
_FROM_ENDS = 0.27, 0.16


@dataclass(frozen=True, slots=True)
class Scale:
    """From `begin`, drawn at 0, to `now`, drawn at 1."""

    begin: datetime
    now: datetime

    def place(self, time: datetime) -> float:
        whole = _bend(self.now - self.begin)
        return min(1.0, max(0.0, 1.0 - _bend(self.now - time) / whole))

    def list_ticks(self) -> Iterator[tuple[datetime, float]]:
        """Yield moments to write a date at, with their places: the beginning first, now not among them."""
        yield self.begin, 0.0
        last = _FROM_ENDS[0] - _APART
        for age in reversed(_TICKS):
            place = self.place(self.now - age)
            if place >= last + _APART and place <= 1.0 - _FROM_ENDS[1]:
                last = place
                yield self.now - age, place


def make_scale(times: Iterable[datetime], *, now: datetime) -> Scale:
    return Scale(begin=min([*times, now - _NEAR]), now=now)


def _bend(age: timedelta) -> float:
    return math.log1p(max(0.0, age / _NEAR))


PER_PAGE = 25
KNOWN_PER_PAGE = 50
MOST_PAGES = 9_999
MOST_CHARACTERS = 200

# Of a line, the last ones; the page of the memory has them all.
SHOWN_STEPS = 12

KINDS = {"long_term": gettext_lazy("Long-term"), "atomic": gettext_lazy("Atomic")}


@dataclass(frozen=True, slots=True)
class Query:
    """What a page is asked for. ``at``: what was known at the end of that day, None: everything over time."""

    q: str
    kind: str
    at: date | None
    page: int
    problem: str = ""

    @property
    def kinds(self) -> list[str]:
        return [self.kind] if self.kind else list(KINDS)


class TimelinePage(PanelPage):
    """GET ``q``, ``kind``, ``as_of``, ``page``; ``user`` and ``name`` for staff."""

    title = gettext_lazy("Timeline")
    template_name = "panel/timeline/page.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        there, problem = self.find_named("timeline")
        if there:
            return there
        query = _read_query(request)
        shown = self._show_known(query) if query.at else self._show_lines(query)
        return self.render(
            request,
            query=query,
            kinds=[("", _("All memories")), *KINDS.items()],
            is_own=self.owner == request.user,
            owner_problem=problem,
            today=timezone.localdate(),
            whole=self._link(query, at=None, page=1),
            now_shown=self._link(query),
            **shown,
        )

    def _show_lines(self, query: Query) -> dict[str, Any]:
        found = read_timeline(
            self.owner, kinds=query.kinds, search=query.q, limit=PER_PAGE, offset=(query.page - 1) * PER_PAGE
        )
        spaces = _find_spaces([one.line.id for one in found.lines])
        shown_steps = [step for one in found.lines for step in one.line.steps[-SHOWN_STEPS:]]
        scale = make_scale((step.since for step in shown_steps), now=timezone.now())
        months = groupby(found.lines, key=lambda one: date_format(timezone.localtime(one.since), "YEAR_MONTH_FORMAT"))
        return {
            "months": [(month, [_show_line(one, scale, spaces) for one in group]) for month, group in months],
            "ticks": [
                (date_format(timezone.localtime(time), "DATE_FORMAT"), place) for time, place in scale.list_ticks()
            ],
            "total": found.total,
            **self._list_pages(query, total=found.total, per_page=PER_PAGE),
        }

    def _show_known(self, query: Query) -> dict[str, Any]:
        assert query.at is not None
        at = end_of_day(query.at, timezone.get_current_timezone())
        start = (query.page - 1) * KNOWN_PER_PAGE
        known = read_knowledge(self.owner, at=at, kinds=query.kinds, search=query.q, limit=KNOWN_PER_PAGE, offset=start)
        profile = None if query.q or query.kind or query.page > 1 else find_profile_at(user=self.owner, at=at)
        return {
            "at": query.at,
            "memories": list(map(_show_memory, known.memories)),
            "deleted": known.deleted,
            "unknown": known.unknown,
            "profile": [(word("section", name), text) for name, text in profile.texts.items()] if profile else [],
            "total": known.total,
            **self._list_pages(query, total=known.total, per_page=KNOWN_PER_PAGE),
        }

    def _list_pages(self, query: Query, *, total: int, per_page: int) -> dict[str, Any]:
        pages = max(1, -(-total // per_page))
        return {
            "pages": pages,
            "previous": self._link(query, page=min(query.page - 1, pages)) if query.page > 1 else "",
            "following": self._link(query, page=query.page + 1) if query.page < pages else "",
        }

    def _link(self, query: Query, **changes: Any) -> str:
        given = {"q": query.q, "kind": query.kind, "as_of": query.at, "page": query.page} | {
            {"at": "as_of"}.get(name, name): value for name, value in changes.items()
        }
        asked = {name: value for name, value in given.items() if value and (name, value) != ("page", 1)}
        if sees_everybody(self.request) and self.owner != self.request.user:
            asked = {"user": self.owner.pk, **asked}
        return f"{reverse('admin:timeline')}?{urlencode(asked)}" if asked else reverse("admin:timeline")


def _read_query(request: HttpRequest) -> Query:
    given = request.GET
    raw_day, day, problem = given.get("as_of", "").strip(), None, ""
    if raw_day:
        try:
            day = parse_date(raw_day)
            if day is not None:
                end_of_day(day, timezone.get_current_timezone())
        except ValueError:
            day = None
        problem = "" if day else _("Enter a date, such as 2026-05-01.")
    kind = given.get("kind", "")
    return Query(
        q=given.get("q", "").strip()[:MOST_CHARACTERS].replace("\x00", ""),
        kind=kind if kind in KINDS else "",
        at=day,
        page=min(read_number(given.get("page")) or 1, MOST_PAGES),
        problem=problem,
    )


def _find_spaces(memories: Sequence[UUID]) -> dict[UUID, Space]:
    """Return where these memories are now, those that are everywhere left out. A query for each kind."""
    return {
        row.pk: cast(Space, row.space)
        for model in (LongTermMemory, AtomicMemory)
        for row in model.objects.filter(pk__in=memories, space__isnull=False).select_related("space").only("space")
    }


def _show_line(found: TimelineLine, scale: Scale, spaces: Mapping[UUID, Space]) -> dict[str, Any]:
    """A line of the timeline. ``earlier``: how many steps there were before those shown."""
    line = found.line
    steps = line.steps[-SHOWN_STEPS:]
    return {
        "kind_name": KINDS[found.kind],
        "kind": found.kind,
        "title": found.title,
        "space": spaces.get(line.id),
        "link": link_memory(found.kind, line.id),
        "steps": [_show_step(found.kind, step, scale) for step in steps],
        "earlier": len(line.steps) - len(steps),
        "undoable": line.undoable,
        "ended": str(Status(line.status).label) if line.latest.until is not None else "",
    }


def _show_step(kind: str, step: Step, scale: Scale) -> dict[str, Any]:
    """A step with its links; ``start``, ``share``: where it is drawn on the lane."""
    start = scale.place(step.since)
    end = scale.place(step.until) if step.until else 1.0
    return {
        "step": step,
        "link": link_memory(kind, step.memory_id),
        "source": link_message(step.session_id, step.message_id),
        "start": start,
        "share": max(end - start, 0.0),
        "is_one_day": step.until is not None and timezone.localdate(step.until) == timezone.localdate(step.since),
    }


def _show_memory(memory: PastMemory) -> dict[str, Any]:
    """A memory as it was; ``became``: what it is now, empty where it is still the same."""
    now = memory.text_now if memory.status == "active" else str(Status(memory.status).label)
    return {
        "memory": memory,
        "kind_name": KINDS[memory.kind],
        "link": link_memory(memory.kind, memory.id),
        "source": link_message(memory.session_id, memory.message_id),
        "became": "" if memory.is_same else now,
    }
