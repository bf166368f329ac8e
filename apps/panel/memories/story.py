"""Where a memory came from, its history, what it replaced, and the turns that used it (M2)."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import takewhile
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.db.models.functions import Left
from django.utils import timezone

from apps.chat.models import Turn
from apps.conversations.models import Message
from apps.core.db import fetch_rows
from apps.core.text.clean import readable_text
from apps.core.words import Component
from apps.doors.models import PastImport
from apps.memory.models import Change, Status
from apps.panel.changes import Line, list_lines, name_spaces
from apps.panel.memories.kinds import CHANGEABLE, MemoryKind
from apps.panel.memories.query import ListQuery
from apps.panel.memories.rows import Row, read_rows
from apps.panel.texts import list_keywords, split_found
from apps.panel.words import list_kept

# The newest that are looked at; a memory that is used more often is used all the time.
MAX_TURNS = 5_000

PER_PAGE = 10
WEEKS = 26
SNIPPET_CHARACTERS = 160

# When turns had any of some memories in their prompts, newest first. First all of them, by the index of memories_used:
# PostgreSQL would rather walk through the person's turns by time.
_FIND = """
WITH used AS MATERIALIZED (
    SELECT assistant_message_id, created_at FROM turn
    WHERE user_id = %(user)s AND memories_used @> ANY (%(memories)s::jsonb[])
)
SELECT assistant_message_id, created_at FROM used ORDER BY created_at DESC, assistant_message_id LIMIT %(limit)s
"""


def _find_turns(memory: Any, versions: Sequence[UUID], *, limit: int) -> list[tuple[UUID, datetime]]:
    used = [json.dumps([{"id": str(version)}]) for version in versions]
    return fetch_rows(_FIND, {"user": memory.user_id, "memories": used, "limit": limit})


@dataclass(frozen=True, slots=True)
class Use:
    """One turn. ``score`` None: a search of the model found it. ``components``: of the score, as far as kept."""

    turn_id: UUID
    used_at: datetime
    session_title: str
    snippet: str
    score: float | None
    components: Sequence[tuple[Component, float]]


@dataclass(frozen=True, slots=True)
class Week:
    """How often the memory was used in the week from a day on. ``share``: of the week with most uses, 0..1."""

    starts: date
    count: int
    share: float


@dataclass(frozen=True, slots=True)
class Uses:
    """``is_more``: there are further pages; ``is_cut``: more than `MAX_TURNS` turns used it."""

    page: int
    rows: Sequence[Use]
    total: int
    is_cut: bool
    is_more: bool
    weeks: Sequence[Week]


def load_uses(memory: Any, *, page: int, now: datetime) -> Uses:
    """Return one page of a memory's uses, newest first, and the chart of the last half year. Two queries."""
    found = _find_turns(memory, [memory.pk], limit=MAX_TURNS + 1)
    start = (page - 1) * PER_PAGE
    shown = [turn_id for turn_id, _time in found[start : start + PER_PAGE]]
    return Uses(
        page=page,
        rows=_read(memory, shown) if shown else [],
        total=min(len(found), MAX_TURNS),
        is_cut=len(found) > MAX_TURNS,
        is_more=len(found) > start + PER_PAGE,
        weeks=count_weeks([time for _id, time in found], now=now),
    )


def _read(memory: Any, turn_ids: Sequence[UUID]) -> list[Use]:
    turns = Turn.objects.filter(user=memory.user_id, pk__in=turn_ids)
    shown = turns.annotate(snippet=Left("user_message__content", SNIPPET_CHARACTERS))
    columns = shown.values("pk", "created_at", "memories_used", "snippet", "session__title")
    rows: dict[UUID, dict[str, Any]] = {row["pk"]: dict(row) for row in columns}
    return [_make(rows[turn_id], str(memory.pk)) for turn_id in turn_ids if turn_id in rows]


def _make(row: dict[str, Any], memory_id: str) -> Use:
    used: dict[str, Any] = next((item for item in row["memories_used"] if item.get("id") == memory_id), {})
    return Use(
        turn_id=row["pk"],
        used_at=row["created_at"],
        session_title=row["session__title"] or "",
        snippet=row["snippet"] or "",
        score=float(used["score"] or 0.0) if "score" in used else None,
        components=list(list_kept(used)),
    )


def count_weeks(times: Sequence[datetime], *, now: datetime) -> list[Week]:
    """Return the last `WEEKS` weeks, oldest first, this one last; `times` are in descending order."""
    today = timezone.localtime(now).date()
    this_week = today - timedelta(days=today.weekday())
    starts = [this_week - timedelta(weeks=back) for back in range(WEEKS - 1, -1, -1)]
    days = takewhile(lambda day: day >= starts[0], (timezone.localtime(time).date() for time in times))
    counts = dict.fromkeys(starts, 0)
    for day in days:
        week = day - timedelta(days=day.weekday())
        if week in counts:
            counts[week] += 1
    most = max(counts.values()) or 1
    return [Week(starts=start, count=count, share=count / most) for start, count in counts.items()]


@dataclass(frozen=True, slots=True)
class ListItem:
    """An item of a list. ``source``: the change that added it, None where that is not recorded.

    ``turn_id``: the turn of the message that it was said in. ``uses``: turns that used the list since.
    """

    index: int
    text: str
    source: Change | None
    turn_id: UUID | None
    uses: int


def load_list_items(memory: Any, *, earlier: Collection[UUID]) -> list[ListItem]:
    """Return the items of a memory whose value is a list; ``earlier``: the memories that it took the place of.

    Three queries, none where the value is no list.
    """
    if not isinstance(memory.value, list):
        return []
    versions = [memory.pk, *earlier]
    texts = [readable_text(item) for item in memory.value]
    sources = _find_sources(memory, versions)
    times = sorted(time for _turn, time in _find_turns(memory, versions, limit=MAX_TURNS))
    messages = {source.message_id for source in sources.values() if source.message_id}
    turns = Turn.objects.filter(user=memory.user_id, user_message__in=messages)
    turn_ids: dict[UUID | None, UUID] = dict(turns.values_list("user_message", "pk"))
    items = []
    for index, text in enumerate(texts):
        source = sources.get(text)
        items.append(
            ListItem(
                index=index,
                text=text,
                source=source,
                turn_id=turn_ids.get(source.message_id) if source else None,
                uses=len(times) - bisect_left(times, source.created_at) if source else len(times),
            )
        )
    return items


def _find_sources(memory: Any, versions: Sequence[UUID]) -> dict[str, Change]:
    """The change that added each item: the first after which it was there and stayed."""
    changes = Change.objects.filter(
        user=memory.user_id, kind=Change.Kind.LONG_TERM, object_id__in=versions, after__status=Status.ACTIVE
    )
    sources: dict[str, Change] = {}
    for change in changes.select_related("actor").order_by("id"):
        value = (change.after or {}).get("value")
        there = {readable_text(item) for item in (value if isinstance(value, list) else [value])}
        sources = {text: sources.get(text, change) for text in there}
    return sources


LINES_AROUND = 2
LINE_CHARACTERS = 400
SOURCE_CHARACTERS = 4_000
MAX_STEPS = 50
MAX_CHAIN = 20


@dataclass(frozen=True, slots=True)
class SaidLine:
    """A message near the one that the memory came from, or that one, with the words that the memory took up."""

    role: str
    role_name: str
    time: Any
    pieces: Sequence[tuple[bool, str]]
    is_source: bool
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Origin:
    """The conversation that a memory came from. ``turn_id``: the turn of the message, if it was answered."""

    session_id: UUID
    lines: Sequence[SaidLine]
    turn_id: UUID | None


def load_origin(memory: Any, kind: MemoryKind) -> Origin | None:
    """Return the lines around the message of a memory; None where it came from none, or it is gone. Three queries."""
    mine = Message.objects.filter(user=memory.user_id)
    place = mine.filter(pk=memory.message_id).values_list("session", "position").first() if memory.message_id else None
    if place is None:
        return None
    session_id, position = place
    near = mine.filter(session=session_id, position__range=(position - LINES_AROUND, position + LINES_AROUND))
    rows = near.order_by("position").annotate(shown=Left("content", SOURCE_CHARACTERS + 1)).defer("content")
    needles = list_keywords(kind.memory.say(vars(memory))[:SOURCE_CHARACTERS])
    turns = Turn.objects.filter(Q(user_message=memory.message_id) | Q(assistant_message=memory.message_id))
    return Origin(
        session_id=session_id,
        lines=[_make_line(row, needles, is_source=row.pk == memory.message_id) for row in rows],
        turn_id=turns.filter(user=memory.user_id).values_list("pk", flat=True).first(),
    )


def _make_line(row: Any, needles: Sequence[str], *, is_source: bool) -> SaidLine:
    limit = SOURCE_CHARACTERS if is_source else LINE_CHARACTERS
    shown = row.shown[:limit]
    return SaidLine(
        role=row.role,
        role_name=row.get_role_display(),
        time=row.create_time,
        pieces=split_found(shown, needles) if is_source else [(False, shown)],
        is_source=is_source,
        is_cut=len(row.shown) > limit,
    )


@dataclass(frozen=True, slots=True)
class Step:
    """One change. ``can_restore``: its outcome can be made the state of the memory again."""

    change: Change
    lines: Sequence[Line]
    is_latest: bool
    can_restore: bool


@dataclass(frozen=True, slots=True)
class History:
    """The newest `MAX_STEPS` changes, newest first."""

    steps: Sequence[Step]
    is_more: bool


def load_history(memory: Any, kind: MemoryKind) -> History:
    """Return the history of a memory: who, when, what. One query, and one for the names of spaces."""
    changes = Change.objects.filter(user=memory.user_id, kind=kind.memory.change_kind, object_id=memory.pk)
    found = list(changes.select_related("actor").order_by("-id")[: MAX_STEPS + 1])
    spaces = name_spaces(found)
    return History(
        steps=[_make_step(change, memory, kind, spaces, is_latest=change is found[0]) for change in found[:MAX_STEPS]],
        is_more=len(found) > MAX_STEPS,
    )


def find_import(memory: Any, history: History) -> UUID | None:
    """Return the import that brought a memory from another application; one query where one may have."""
    operation = next(
        (step.change.operation for step in history.steps if step.change.action == Change.Action.IMPORT), None
    )
    if operation is None:
        return None
    return PastImport.objects.filter(user=memory.user_id, operation=operation).values_list("pk", flat=True).first()


def _make_step(change: Change, memory: Any, kind: MemoryKind, spaces: Mapping[str, str], *, is_latest: bool) -> Step:
    return Step(
        change=change,
        lines=list(list_lines(change, spaces)),
        is_latest=is_latest,
        can_restore=memory.status in CHANGEABLE and bool(list_restorable(change, memory, kind)),
    )


def list_restorable(change: Change, memory: Any, kind: MemoryKind) -> dict[str, Any]:
    """Return the fields, as the service takes them, in which the memory now is not what it was after a change."""
    after = change.after or {}
    then = {name: kind.memory.column(name).to_python(after[name]) for name in kind.memory.editable if name in after}
    return {name: value for name, value in then.items() if getattr(memory, name) != value}


_CHAIN = """
WITH RECURSIVE later AS (
    SELECT memory.id, memory.superseded_by_id, -1 AS step
    FROM {table} AS memory WHERE memory.id = %(successor)s AND memory.user_id = %(user)s
    UNION ALL
    SELECT memory.id, memory.superseded_by_id, later.step - 1
    FROM {table} AS memory JOIN later ON memory.id = later.superseded_by_id
    WHERE memory.user_id = %(user)s AND later.step > -%(limit)s
),
earlier AS (
    SELECT memory.id, 1 AS step FROM {table} AS memory
    WHERE memory.superseded_by_id = %(id)s AND memory.user_id = %(user)s
    UNION ALL
    SELECT memory.id, earlier.step + 1
    FROM {table} AS memory JOIN earlier ON memory.superseded_by_id = earlier.id
    WHERE memory.user_id = %(user)s AND earlier.step < %(limit)s
)
SELECT id, step < 0
FROM (SELECT id, step FROM later UNION ALL (SELECT id, step FROM earlier ORDER BY step LIMIT %(limit)s)) AS chain
ORDER BY step
"""


def load_chain(memory: Any, kind: MemoryKind) -> list[Row]:
    """Return what took the place of a memory, and of that, the newest first; then what it took the place of itself.

    The memory is among them where there are any; else the list is empty. Two queries.
    """
    values = {"id": memory.pk, "user": memory.user_id, "successor": memory.superseded_by_id, "limit": MAX_CHAIN}
    found = fetch_rows(_CHAIN.format(table=kind.model._meta.db_table), values)
    if not found:
        return []
    later = [memory_id for memory_id, is_later in found if is_later]
    earlier = [memory_id for memory_id, is_later in found if not is_later]
    return read_rows(kind, [*later, memory.pk, *earlier], ListQuery())
