"""Where a memory came from, its history, and what it replaced (M2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Q
from django.db.models.functions import Left
from django.utils.dateparse import parse_datetime

from apps.chat.models import Turn
from apps.conversations.models import Message
from apps.core.text.json_text import json_text
from apps.core.text.keywords import extract_keywords
from apps.core.text.matching import stem
from apps.doors.models import PastImport
from apps.memory.models import Change
from apps.panel.field_words import FIELD_LABELS, TEXT_FIELDS, TIME_FIELDS, show_field
from apps.panel.highlight import split_found
from apps.panel.memories.kinds import CHANGEABLE, LONG_TERM, MemoryKind
from apps.panel.memories.query import ListQuery
from apps.panel.memories.rows import Row, read_rows

LINES_AROUND = 2
LINE_CHARACTERS = 400
SOURCE_CHARACTERS = 4_000
MAX_STEPS = 50
MAX_CHAIN = 20

_MAX_WORDS = 30


@dataclass(frozen=True, slots=True)
class Line:
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
    lines: Sequence[Line]
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
    text = f"{memory.key} {json_text(memory.value)}" if kind is LONG_TERM else memory.content
    words = extract_keywords(text[:SOURCE_CHARACTERS], limit=_MAX_WORDS)
    needles = sorted({*words, *map(stem, words)}, key=lambda word: (-len(word), word))
    turns = Turn.objects.filter(Q(user_message=memory.message_id) | Q(assistant_message=memory.message_id))
    return Origin(
        session_id=session_id,
        lines=[_make_line(row, needles, is_source=row.pk == memory.message_id) for row in rows],
        turn_id=turns.filter(user=memory.user_id).values_list("pk", flat=True).first(),
    )


def _make_line(row: Any, needles: Sequence[str], *, is_source: bool) -> Line:
    limit = SOURCE_CHARACTERS if is_source else LINE_CHARACTERS
    shown = row.shown[:limit]
    return Line(
        role=row.role,
        role_name=row.get_role_display(),
        time=row.create_time,
        pieces=split_found(shown, needles) if is_source else [(False, shown)],
        is_source=is_source,
        is_cut=len(row.shown) > limit,
    )


@dataclass(frozen=True, slots=True)
class Difference:
    """What a change did to one field. ``link``: the memory that it names, where the field is one."""

    label: Any
    before: Any
    after: Any
    is_text: bool
    before_link: str = ""
    after_link: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One change. ``can_restore``: its outcome can be made the state of the memory again."""

    change: Change
    differences: Sequence[Difference]
    is_latest: bool
    can_restore: bool


@dataclass(frozen=True, slots=True)
class History:
    """The newest `MAX_STEPS` changes, newest first."""

    steps: Sequence[Step]
    is_more: bool


def load_history(memory: Any, kind: MemoryKind) -> History:
    """Return the history of a memory: who, when, what. One query."""
    changes = Change.objects.filter(user=memory.user_id, kind=kind.change_kind, object_id=memory.pk)
    found = list(changes.select_related("actor").order_by("-id")[: MAX_STEPS + 1])
    return History(
        steps=[_make_step(change, memory, kind, is_latest=change is found[0]) for change in found[:MAX_STEPS]],
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


def _make_step(change: Change, memory: Any, kind: MemoryKind, *, is_latest: bool) -> Step:
    before, after = change.before or {}, change.after or {}
    # What a new memory has from the beginning is worth telling only where it says something.
    names = after if change.before else (name for name in after if name in ("key", "value", "content", "category"))
    return Step(
        change=change,
        differences=[
            _make_difference(name, before.get(name), after[name], kind)
            for name in names
            if name in FIELD_LABELS and before.get(name) != after[name]
        ],
        is_latest=is_latest,
        can_restore=memory.status in CHANGEABLE and bool(list_restorable(change, memory, kind)),
    )


def _make_difference(name: str, before: Any, after: Any, kind: MemoryKind) -> Difference:
    is_link = name == "superseded_by"
    return Difference(
        label=FIELD_LABELS[name],
        before=show_field(name, before),
        after=show_field(name, after),
        is_text=name in TEXT_FIELDS,
        before_link=before if is_link and before else "",
        after_link=after if is_link and after else "",
    )


def list_restorable(change: Change, memory: Any, kind: MemoryKind) -> dict[str, Any]:
    """Return the fields, as the service takes them, in which the memory now is not what it was after a change."""
    after = change.after or {}
    changes = {}
    for name in kind.editable:
        if name not in after:
            continue
        value = parse_datetime(after[name]) if name in TIME_FIELDS and after[name] else after[name]
        if getattr(memory, name) != value:
            changes[name] = value
    return changes


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
    with connection.cursor() as cursor:
        cursor.execute(_CHAIN.format(table=kind.model._meta.db_table), values)
        found = cursor.fetchall()
    if not found:
        return []
    later = [memory_id for memory_id, is_later in found if is_later]
    earlier = [memory_id for memory_id, is_later in found if not is_later]
    return read_rows(kind, [*later, memory.pk, *earlier], ListQuery())
