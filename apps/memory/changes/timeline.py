"""Reading a person's memories over time: as lines of what replaced what, and as what was known at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import CharField, Exists, F, Max, OuterRef, QuerySet, Value
from django.db.models.expressions import RawSQL

from apps.accounts.models import User
from apps.core.db import fetch_rows
from apps.memory.changes.records import Snapshot
from apps.memory.kinds import KINDS, MemoryKind
from apps.memory.models import Change, Status

SHOWN_CHARACTERS = 280  # of a text on a line; a memory may have 32,000
MAX_DEPTH = 60  # how many memories back a line is followed

# What is or was known. What waits for review was not yet, and what was rejected or undone is as if it never was.
_KNOWN = (Status.ACTIVE, Status.SUPERSEDED, Status.EVICTED)


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
    now = {row.pk: (str(row.status), _read_text(kind, vars(row))) for row in rows}
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
    found = fetch_rows(_MEMBERS.format(table=kind.model._meta.db_table), values)
    head_of: dict[UUID, UUID] = {row[0]: row[1] for row in found}
    rows = kind.rows(user).in_bulk(list(head_of))
    members: defaultdict[UUID, list[Any]] = defaultdict(list)
    records: defaultdict[UUID, list[Change]] = defaultdict(list)
    for row in rows.values():
        members[head_of[row.pk]].append(row)
    changes = Change.objects.filter(user=user, kind=kind.change_kind, object_id__in=list(rows)).select_related(
        "message"
    )
    for change in changes.defer("message__content").order_by("id"):
        records[head_of[change.object_id]].append(change)
    for head in heads:
        line = build_line(kind, members[head], records[head])
        if line is not None:
            row = rows[head]
            yield TimelineLine(
                kind=kind.name.value, title=kind.describe(vars(row))[0], since=getattr(row, kind.said_at), line=line
            )


def _read_text(kind: MemoryKind, state: Mapping[str, Any]) -> str:
    return _cut(kind.describe(state)[1])


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"


@dataclass(frozen=True, slots=True)
class PastObjects:
    """The objects of a kind at a time, of those that are not deleted now.

    `unchanged`: the rows that are what they were. `changed`: what the others were, by ID. `unknown`: how many there
    were perhaps, of which nothing is left to tell what they were.
    """

    at: datetime
    unchanged: QuerySet[Any]
    changed: Mapping[UUID, Snapshot]
    unknown: int


def read_past(kind: MemoryKind, user: User, *, at: datetime) -> PastObjects:
    """Return what the person's memories of a kind, of every status, were at a time.

    Of where the person looks from: what was there then, wherever it is now. One query, whatever the number of rows;
    `unchanged` is for the caller to ask.
    """
    rows = kind.rows(user.overseeing())
    later = Change.objects.filter(user=user, kind=kind.change_kind, created_at__gt=at)
    first = later.order_by("object_id", "id").distinct("object_id")
    # What was new was absent before, even where its texts are gone; with an early time that is nearly everything.
    told = Change.objects.filter(pk__in=first.values("pk"), object_id__in=rows.order_by().values("pk"))
    told = told.exclude(action=Change.Action.CREATE).exclude(before__isnull=True, after__isnull=False).order_by()
    states = dict(told.values_list("object_id", "before"))
    changed = {row_id: before for row_id, before in states.items() if before is not None and _saw(user, before)}
    unknown = sum(before is None for before in states.values())
    same = kind.rows(user).filter(~Exists(later.filter(object_id=OuterRef("pk"))), **{f"{kind.made_at}__lte": at})
    return PastObjects(at=at, unchanged=same, changed=changed, unknown=unknown)


def _saw(user: User, state: Snapshot) -> bool:
    """Whether a person sees from where they look what was in the space that a record names."""
    space = state.get("space")
    return user.sight.sees(UUID(space) if space else None)


def is_wanted(kind: MemoryKind, state: Snapshot, wanted: Mapping[str, Any]) -> bool:
    """Whether what a memory was passes the cleaned values of the filters of its list, as far as records tell."""
    for name, value in wanted.items():
        if value is None or value == "":
            continue
        match name:
            case "status":
                passes = state["status"] in value
            case "search":
                passes = not value.strip() or kind.holds(state, value)
            case "since":
                passes = datetime.fromisoformat(state[kind.said_at]) >= value
            case "until":
                passes = datetime.fromisoformat(state[kind.said_at]) <= value
            case "tags":
                passes = {tag.strip() for tag in value.split(",") if tag.strip()} <= set(state["tags"])
            case "sensitive":
                passes = value in state.get("sensitive", [])
            case _:
                passes = name not in kind.tracked or state.get(name, False) == value
        if not passes:
            return False
    return True


def list_untracked(kind: MemoryKind, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of those filters that no record has a field for: they apply to what the memories are now."""
    return {
        name: value for name, value in wanted.items() if value and name in kind.api_fields and name not in kind.tracked
    }


def count_deleted_since(user: User, *, kinds: Collection[Change.Kind], at: datetime) -> int:
    """Return how many objects that there were at a time have been deleted: all that is kept of them is that."""
    deleted = Change.objects.filter(user=user, kind__in=kinds, action=Change.Action.DELETE, created_at__gt=at)
    before = Change.objects.filter(user=user, object_id=OuterRef("object_id"), created_at__lte=at)
    return deleted.filter(Exists(before)).values("object_id").distinct().count()


def put_back_all(kind: MemoryKind, past: PastObjects, *, user: User, rows: Iterable[Any]) -> None:
    """Give those of the rows that have changed since what they had; `updated_at` too. One query, or none.

    They are not to be saved.
    """
    altered = {row.pk: row for row in rows if row.pk in past.changed}
    if not altered:
        return
    earlier = Change.objects.filter(user=user, object_id__in=list(altered), created_at__lte=past.at).order_by()
    last = dict(earlier.values("object_id").annotate(last=Max("created_at")).values_list("object_id", "last"))
    for row_id, row in altered.items():
        kind.put_back(row, past.changed[row_id])
        row.updated_at = last.get(row_id, row.updated_at)


@dataclass(frozen=True, slots=True)
class Step:
    """What was true from `since` until `until`, None: it is still. `message_id`: what was said that made it so."""

    memory_id: UUID
    text: str
    since: datetime
    until: datetime | None
    session_id: UUID | None = None
    message_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """Steps, the earliest first. `status`: that of the last memory. `undoable`: the operation that made the last step,
    or ended it, where nothing was changed since; None where there is nothing to go back to.
    """

    id: UUID
    status: str
    steps: Sequence[Step]
    undoable: UUID | None = None

    @property
    def latest(self) -> Step:
        return self.steps[-1]


def build_line(kind: MemoryKind, members: Iterable[Any], records: Iterable[Change]) -> Line | None:
    """Return memories that replaced each other as one line; None for what was never known, only proposed.

    Exactly one of `members` has no successor among them: the last.
    """
    by_id = {member.id: member for member in members}
    told: dict[UUID, list[Change]] = {member_id: [] for member_id in by_id}
    for record in records:
        told[record.object_id].append(record)
    head = next(member for member in by_id.values() if member.superseded_by_id not in by_id)
    known = [member for member in by_id.values() if _was_active(member, told[member.id])]
    if not known:
        return None
    steps = _order([_list_versions(kind, member, told[member.id]) for member in known], by_id)
    last = by_id[steps[-1].memory_id]
    ended = [_end(step, steps[number + 1 :], by_id) for number, step in enumerate(steps)]
    is_changed = len(ended) > 1 or ended[-1].until is not None
    undoable = _find_undoable(told[last.id], steps[-1]) if is_changed else None
    return Line(id=head.id, status=str(last.status), steps=ended, undoable=undoable)


def _was_active(member: Any, records: Sequence[Change]) -> bool:
    if member.status == Status.ACTIVE:
        return True
    states = [state for record in records for state in (record.before, record.after) if state is not None]
    return not states or any(state["status"] == Status.ACTIVE for state in states)


def _list_versions(kind: MemoryKind, member: Any, records: Sequence[Change]) -> list[Step]:
    """What a memory has said one after the other while it was active, as far as it is kept; what it says now last."""
    said, made_at = _read_text(kind, vars(member)), getattr(member, kind.said_at)
    first = Step(member.id, said, made_at, None, member.session_id, member.message_id)
    versions: list[Step] = []
    for record in records:
        # What was undone, and its undoing, are as if nothing had happened.
        if (
            record.undone_by
            or record.action == Change.Action.UNDO
            or record.after is None
            or record.after["status"] != Status.ACTIVE
        ):
            continue
        text = _read_text(kind, record.after)
        if versions and text == versions[-1].text:
            continue
        if not versions and record.before is not None and record.before["status"] == Status.ACTIVE:
            earlier = _read_text(kind, record.before)  # how it began is not recorded
            if earlier == text:
                continue
            versions.append(replace(first, text=earlier))
        version = replace(first, text=text)
        if versions:
            said_in = record.message.session_id if record.message else None
            version = replace(version, since=record.created_at, session_id=said_in, message_id=record.message_id)
        versions.append(version)
    if not versions or versions[-1].text != said:
        # Emptied records, or none at all: only what stands in it now is known.
        return [first]
    return versions


def _order(versions: Sequence[Sequence[Step]], by_id: Mapping[UUID, Any]) -> list[Step]:
    """All versions by time; what took the place of a memory comes after it, whatever their times say."""
    depths = {steps[0].memory_id: _measure_depth(steps[0].memory_id, by_id) for steps in versions}
    latest: dict[UUID, datetime] = {}
    placed: list[tuple[datetime, int, int, Step]] = []
    for steps in sorted(versions, key=lambda steps: -depths[steps[0].memory_id]):
        memory_id = steps[0].memory_id
        for number, step in enumerate(steps):
            is_last = number == len(steps) - 1
            time = max(step.since, latest.get(memory_id, step.since)) if is_last else step.since
            placed.append((time, -depths[memory_id], number, step))
        successor = by_id[memory_id].superseded_by_id
        if successor in by_id:
            latest[successor] = max(time, latest.get(successor, time))
    return [step for *_place, step in sorted(placed, key=lambda place: place[:3])]


def _measure_depth(memory_id: UUID, by_id: Mapping[UUID, Any]) -> int:
    depth, seen = 0, {memory_id}
    successor = by_id[memory_id].superseded_by_id
    while successor in by_id and successor not in seen:
        seen.add(successor)
        depth, successor = depth + 1, by_id[successor].superseded_by_id
    return depth


def _end(step: Step, later: Sequence[Step], by_id: Mapping[UUID, Any]) -> Step:
    """The step with its end: when the next version of it, or what took its place, began."""
    member = by_id[step.memory_id]
    following = next((other for other in later if other.memory_id in (member.id, member.superseded_by_id)), None)
    if following is not None:
        return replace(step, until=max(step.since, following.since))
    return step if member.status == Status.ACTIVE else replace(step, until=max(step.since, member.updated_at))


def _find_undoable(records: Sequence[Change], step: Step) -> UUID | None:
    """The operation that last changed what the last memory says or whether it holds, unless more happened since."""
    last = records[-1] if records else None
    if last is None or last.undone_by or last.after is None or last.action == Change.Action.UNDO:
        return None
    before = last.before or {}
    is_about_it = last.before is None or any(before[name] != last.after[name] for name in before if name in _SAYING)
    return last.operation if is_about_it else None


_SAYING = ("key", "value", "content", "status")
