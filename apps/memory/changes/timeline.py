"""Reading a person's memories over time: as lines of what replaced what, and as what was known at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import CharField, F, QuerySet, Value
from django.db.models.expressions import RawSQL

from apps.accounts.models import User
from apps.memory.changes.as_of import PastObjects, count_deleted_since, read_past
from apps.memory.changes.lines import Line, LineRecord, Member, build_line
from apps.memory.kinds import KINDS, MemoryKind
from apps.memory.models import Change, Status

SHOWN_CHARACTERS = 280
"""Of a text on a line; a memory may have 32,000."""

MAX_DEPTH = 60
"""How many memories back a line is followed."""

_KNOWN = (Status.ACTIVE, Status.SUPERSEDED, Status.EVICTED)
"""What is or was known. What waits for review was not yet, and what was rejected or undone is as if it never was."""


KIND_NAMES: tuple[str, ...] = tuple(kind.name.value for kind in KINDS)


@dataclass(frozen=True, slots=True)
class TimelineLine:
    """A line of the timeline. `title`: the key of a long-term memory, empty for an atomic one. `since`: when the last
    memory was said, by which lines are in order."""

    kind: str
    title: str
    since: datetime
    line: Line


@dataclass(frozen=True, slots=True)
class Timeline:
    """A page of lines, those whose last memory is newest first. `total`: all of them."""

    lines: Sequence[TimelineLine]
    total: int


@dataclass(frozen=True, slots=True)
class PastMemory:
    """A memory as it was at a time. `status`, `text_now`: what it is now, in place of `text`."""

    kind: str
    id: UUID
    title: str
    text: str
    since: datetime
    session_id: UUID | None
    message_id: UUID | None
    status: str
    text_now: str

    @property
    def is_same(self) -> bool:
        """Whether it is known still, in the same words."""
        return self.status == Status.ACTIVE and self.text == self.text_now


@dataclass(frozen=True, slots=True)
class Knowledge:
    """A page of what was active at a time, newest first. `total`: all of it.

    `deleted`: how many objects of then have been deleted for good since. `unknown`: how many there are still, of which
    it is not kept what they were.
    """

    memories: Sequence[PastMemory]
    total: int
    deleted: int
    unknown: int


def read_timeline(
    user: User, *, kinds: Collection[str] = KIND_NAMES, search: str = "", limit: int, offset: int = 0
) -> Timeline:
    """Return a person's memories over time. `search`: only lines of which a memory, the last or an earlier, says that.

    The number of queries does not depend on the number of memories.
    """
    heads = [(kind, _list_heads(kind, user, search)) for kind in KINDS if kind.name in kinds]
    total = sum(rows.order_by().count() for _kind, rows in heads)
    page = _read_page(heads, limit=limit, offset=offset)
    built: dict[UUID, TimelineLine] = {}
    for kind, _rows in heads:
        if ids := [memory_id for name, memory_id in page if name == kind.name]:
            built |= {line.line.id: line for line in _build_lines(kind, user, ids)}
    return Timeline(lines=[built[memory_id] for _kind, memory_id in page if memory_id in built], total=total)


def read_knowledge(
    user: User, *, at: datetime, kinds: Collection[str] = KIND_NAMES, search: str = "", limit: int, offset: int = 0
) -> Knowledge:
    """Return what was known of a person at a time: the memories that were active then. `search`: in what they said.

    The number of queries does not depend on the number of memories.
    """
    wanted = [kind for kind in KINDS if kind.name in kinds]
    pasts = [read_past(kind, user, at=at) for kind in wanted]
    then: list[tuple[MemoryKind, QuerySet[Any]]] = []
    total = 0
    for kind, past in zip(wanted, pasts, strict=True):
        unchanged, changed = _find_active(kind, past, search)
        # Apart, as the database finds them far quicker than both at once.
        then += [(kind, unchanged), (kind, kind.rows(user).filter(pk__in=changed))]
        total += unchanged.order_by().count() + len(changed)
    page = _read_page(then, limit=limit, offset=offset)
    known: dict[UUID, PastMemory] = {}
    for kind, past in zip(wanted, pasts, strict=True):
        if ids := [memory_id for name, memory_id in page if name == kind.name]:
            known |= {memory.id: memory for memory in _describe_known(kind, user, past, ids)}
    return Knowledge(
        memories=[known[memory_id] for _kind, memory_id in page if memory_id in known],
        total=total,
        deleted=count_deleted_since(user, kinds=[kind.change_kind for kind in wanted], at=at),
        unknown=sum(past.unknown for past in pasts),
    )


# What was known


def _find_active(kind: MemoryKind, past: PastObjects, search: str) -> tuple[QuerySet[Any], list[UUID]]:
    """The memories that were active: those unchanged since, and the IDs of the others."""
    unchanged = past.unchanged.filter(status=Status.ACTIVE)
    changed = [row_id for row_id, state in past.changed.items() if state["status"] == Status.ACTIVE]
    if search.strip():
        unchanged = kind.search(unchanged, search)
        changed = [row_id for row_id in changed if kind.holds(past.changed[row_id], search)]
    return unchanged, changed


def _describe_known(kind: MemoryKind, user: User, past: PastObjects, ids: Collection[UUID]) -> Iterator[PastMemory]:
    rows = list(kind.rows(user).filter(pk__in=ids))
    now = {row.pk: (str(row.status), _cut(kind.describe(vars(row))[1])) for row in rows}
    for row in rows:
        if row.pk in past.changed:
            kind.put_back(row, past.changed[row.pk])
        title, text = kind.describe(vars(row))
        status, text_now = now[row.pk]
        yield PastMemory(
            kind=kind.name.value,
            id=row.pk,
            title=title,
            text=_cut(text),
            since=getattr(row, kind.said_at),
            session_id=row.session_id,
            message_id=row.message_id,
            status=status,
            text_now=text_now,
        )


# Lines

_LAST = """
WITH RECURSIVE later AS (
    SELECT memory.id, memory.superseded_by_id FROM {table} AS memory WHERE memory.id IN ({found})
    UNION
    SELECT memory.id, memory.superseded_by_id FROM {table} AS memory JOIN later ON memory.id = later.superseded_by_id
)
SELECT id FROM later WHERE superseded_by_id IS NULL
"""

_MEMBERS = """
WITH RECURSIVE line AS (
    SELECT memory.id, memory.id AS head, 0 AS depth FROM {table} AS memory WHERE memory.id = ANY (%(heads)s)
    UNION
    SELECT memory.id, line.head, line.depth + 1
    FROM {table} AS memory JOIN line ON memory.superseded_by_id = line.id
    WHERE memory.user_id = %(user)s AND line.depth < %(limit)s
)
SELECT id, head FROM line
"""


def _list_heads(kind: MemoryKind, user: User, search: str) -> QuerySet[Any]:
    """The memories that nothing took the place of: the last of each line."""
    rows = kind.rows(user).filter(status__in=_KNOWN)
    heads = rows.filter(superseded_by=None)
    if not search.strip():
        return heads
    found = kind.search(rows, search).order_by().values("pk")
    sql, parameters = found.query.sql_with_params()
    last = _LAST.format(table=kind.model._meta.db_table, found=sql)
    # What is put into the text is Django's own, without values.
    return heads.filter(pk__in=RawSQL(last, parameters))  # noqa: S611


def _read_page(found: Sequence[tuple[MemoryKind, QuerySet[Any]]], *, limit: int, offset: int) -> list[tuple[str, UUID]]:
    """The kinds and IDs of a page of memories of several kinds, newest first; one query."""
    parts = [
        rows.order_by()
        .annotate(kind_name=Value(kind.name.value, CharField()), at=F(kind.said_at))
        .values_list("kind_name", "pk", "at")
        for kind, rows in found
    ]
    if not parts:
        return []
    together = parts[0].union(*parts[1:], all=True)
    page = together.order_by("-at", "-id")[offset : offset + limit]
    return [(kind, memory_id) for kind, memory_id, _time in page]


def _build_lines(kind: MemoryKind, user: User, heads: Sequence[UUID]) -> Iterator[TimelineLine]:
    """The lines that end with these memories. Three queries."""
    values: dict[str, Any] = {"heads": list(heads), "user": user.pk, "limit": MAX_DEPTH}
    with connection.cursor() as cursor:
        cursor.execute(_MEMBERS.format(table=kind.model._meta.db_table), values)
        head_of: Mapping[UUID, UUID] = dict(cursor.fetchall())
    rows = kind.rows(user).in_bulk(list(head_of))
    members: defaultdict[UUID, list[Member]] = defaultdict(list)
    records: defaultdict[UUID, list[LineRecord]] = defaultdict(list)
    for row in rows.values():
        members[head_of[row.pk]].append(_make_member(kind, row))
    changes = Change.objects.filter(user=user, kind=kind.change_kind, object_id__in=list(rows)).select_related(
        "message"
    )
    for change in changes.defer("message__content").order_by("id"):
        records[head_of[change.object_id]].append(_make_record(change))
    for head in heads:
        line = build_line(members[head], records[head], read_text=lambda state: _cut(kind.describe(state)[1]))
        if line is not None:
            row = rows[head]
            yield TimelineLine(
                kind=kind.name.value, title=kind.describe(vars(row))[0], since=getattr(row, kind.said_at), line=line
            )


def _make_member(kind: MemoryKind, row: Any) -> Member:
    return Member(
        id=row.pk,
        text=_cut(kind.describe(vars(row))[1]),
        status=str(row.status),
        made_at=getattr(row, kind.said_at),
        ended_at=row.updated_at,
        superseded_by=row.superseded_by_id,
        session_id=row.session_id,
        message_id=row.message_id,
    )


def _make_record(change: Change) -> LineRecord:
    return LineRecord(
        object_id=change.object_id,
        action=change.action,
        before=change.before,
        after=change.after,
        operation=change.operation,
        created_at=change.created_at,
        undone=change.undone_by is not None,
        session_id=change.message.session_id if change.message else None,
        message_id=change.message_id,
    )


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"
