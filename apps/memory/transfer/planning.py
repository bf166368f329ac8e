"""Finding out what importing rows would do (M4). Reads only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID, uuid5

from django.db import models

from apps.accounts.models import User
from apps.conversations.models import Message, Session
from apps.core.errors import JiyiError
from apps.memory.judge.types import PendingVerdict
from apps.memory.kinds import CURRENT, MemoryKind
from apps.memory.models import Status
from apps.memory.transfer.files import (
    ImportPlan,
    Note,
    PlannedRow,
    Reader,
    ReadRow,
    RowAction,
    read_bool,
    read_choice,
    read_count,
    read_id,
    read_optional_id,
    read_optional_time,
    read_row,
    read_time,
)
from apps.memory.types import KindName

_AT_ONCE = 5_000
_LINK_NOTES = {"superseded_by": Note.NO_SUCCESSOR, "left_of": Note.NO_ORIGIN}


def plan_import(*, user: User, kind: MemoryKind, items: Sequence[Any]) -> ImportPlan:
    """Return what importing these objects into a person's memories of a kind would do to each of them.

    A free ID is kept, one of the person's own is updated or, with nothing new, skipped. Where somebody else has it, the
    row gets another, always the same one, so that importing a file again finds what it made. A few queries for each
    5,000 rows.
    """
    readers = {name: _make_reader(kind, name) for name in kind.file_fields}
    required = tuple(field.name for field in kind.fields if field.required)
    rows = [read_row(number, item, readers=readers, required=required) for number, item in enumerate(items, 1)]
    return _Planner(user=user, kind=kind, rows=rows).plan()


class _Planner:
    def __init__(self, *, user: User, kind: MemoryKind, rows: Sequence[ReadRow]) -> None:
        self._user, self._kind, self._rows = user, kind, rows
        self._mine = kind.model.objects.filter(user=user).defer(*kind.derived)
        ids = {row.given["id"] for row in rows if "id" in row.given}
        foreign = self._find_foreign(ids)
        self._own_ids = {asked: uuid5(asked, f"jiyi.import.{user.pk}") if asked in foreign else asked for asked in ids}
        if replaced := {self._own_ids[asked] for asked in foreign}:
            # Taken in turn, which takes intent: then the database makes one up that nobody can foresee.
            taken = self._find_foreign(replaced)
            self._own_ids = {asked: made for asked, made in self._own_ids.items() if made not in taken}
        self._known = self._fetch(self._own_ids.values())
        self._sessions = self._keep_own(Session, "session_id")
        self._messages = self._keep_own(Message, "message_id")
        linked = {row.given.get(name) for row in rows for name in list_links(kind)} - {None} - ids
        self._linked = set(self._in_portions(linked, "id"))

    def _find_foreign(self, ids: Collection[UUID]) -> set[UUID]:
        others = self._kind.model.objects.exclude(user=self._user)
        return {
            found for portion in _portions(ids) for found in others.filter(id__in=portion).values_list("id", flat=True)
        }

    def _fetch(self, ids: Iterable[UUID]) -> dict[UUID, Any]:
        return {memory.id: memory for portion in _portions(ids) for memory in self._mine.filter(id__in=portion)}

    def _in_portions(self, values: Iterable[Any], name: str) -> Iterator[Any]:
        for portion in _portions(values):
            yield from self._mine.filter(**{f"{name}__in": portion}).values_list(name, flat=True)

    def _keep_own(self, model: Any, name: str) -> set[UUID]:
        asked = {row.given.get(name) for row in self._rows} - {None}
        mine = model.objects.filter(user=self._user)
        return {
            found for portion in _portions(asked) for found in mine.filter(id__in=portion).values_list("id", flat=True)
        }

    def plan(self) -> ImportPlan:
        planned = [self._plan(row) for row in self._rows]
        planned = self._refuse(planned, self._find_repeated_ids())
        planned = self._refuse(planned, self._find_circles(planned))
        return ImportPlan(tuple(self._refuse(planned, self._find_clashes(planned))))

    def _plan(self, row: ReadRow) -> PlannedRow:
        if row.reasons:
            return PlannedRow(number=row.number, action=RowAction.ERROR, id=None, given=row.given, reasons=row.reasons)
        given, notes = dict(row.given), []
        asked = given.pop("id", None)
        own_id = self._own_ids.get(asked) if asked else None
        if own_id != asked:
            notes.append(Note.NEW_ID)
        for name, known, note in (
            ("session_id", self._sessions, Note.NO_SESSION),
            ("message_id", self._messages, Note.NO_MESSAGE),
        ):
            if given.get(name) is not None and given[name] not in known:
                given[name] = None
                notes.append(note)
        for name, note in ((link, _LINK_NOTES[link]) for link in list_links(self._kind)):
            target = given.get(name)
            if target is not None:
                given[name] = self._own_ids.get(target, target if target in self._linked else None)
                if given[name] is None:
                    notes.append(note)
        _rename_targets(given, self._own_ids)
        memory = self._known.get(own_id) if own_id else None
        before = None if memory is None else _read_values(self._kind, memory)
        found = PlannedRow(
            number=row.number, action=RowAction.CREATE, id=own_id, given=given, before=before, notes=tuple(notes)
        )
        if before is not None:
            found = replace(found, action=RowAction.UPDATE if found.changed else RowAction.SKIP)
        final = _final(found)
        if found.action is not RowAction.SKIP and (reason := self._kind.find_problem(final)):
            return _fail(found, {"event_end": [reason]})
        is_current = final.get("status", Status.ACTIVE) in CURRENT
        if found.action is not RowAction.SKIP and is_current and final.get("superseded_by") is not None:
            return _fail(found, {"superseded_by": ["Only a superseded memory can have a successor."]})
        return found

    def _refuse(self, planned: Sequence[PlannedRow], reasons: Mapping[int, dict[str, list[str]]]) -> list[PlannedRow]:
        return [_fail(row, reasons[row.number]) if row.number in reasons else row for row in planned]

    def _find_repeated_ids(self) -> dict[int, dict[str, list[str]]]:
        first: dict[UUID, int] = {}
        found = {}
        for row in self._rows:
            asked = row.given.get("id")
            if asked is not None and first.setdefault(asked, row.number) != row.number:
                found[row.number] = {"id": [f"Row {first[asked]} already has this ID."]}
        return found

    def _find_circles(self, planned: Sequence[PlannedRow]) -> dict[int, dict[str, list[str]]]:
        """Rows whose successors lead back to themselves, through the file and what is stored."""
        links: dict[UUID | None, UUID | None] = {row.id: _final(row).get("superseded_by") for row in planned if row.id}
        if any(successor is not None and successor not in links for successor in links.values()):
            stored = self._mine.filter(superseded_by__isnull=False).values_list("id", "superseded_by_id")
            links = {**dict(stored), **links}
        safe: set[UUID | None] = {None}
        found = {}
        for row in planned:
            path: dict[UUID | None, None] = {}
            step = row.id
            while step not in safe and step not in path:
                path[step] = None
                step = links.get(step)
            if step in safe:
                safe.update(path)
            else:
                found[row.number] = {"superseded_by": ["The chain of replacements leads back to this memory."]}
        return found

    def _find_clashes(self, planned: Sequence[PlannedRow]) -> dict[int, dict[str, list[str]]]:
        """Rows that would be a second active memory of one identity: in the file, or beside what is stored."""
        kind = self._kind
        active: defaultdict[str, list[PlannedRow]] = defaultdict(list)
        for row in planned:
            if row.action is not RowAction.ERROR and _final(row).get("status", Status.ACTIVE) == Status.ACTIVE:
                active[kind.identify(_final(row))].append(row)
        stored = self._mine.filter(status=Status.ACTIVE)
        in_file = {row.id for row in planned if row.id is not None and row.action is not RowAction.ERROR}
        taken = {
            identity
            for portion in _portions(active)
            for memory_id, identity in stored.filter(**{f"{kind.identity}__in": portion}).values_list(
                "id", kind.identity
            )
            if memory_id not in in_file
        }
        found = {}
        for identity, rows in active.items():
            # Of those in the file the one that is there already comes first, else the one that stands first.
            first, *others = sorted(rows, key=lambda row: row.action is not RowAction.SKIP)
            for row in others:
                if row.action is not RowAction.SKIP:
                    found[row.number] = {kind.named: [f"Duplicates the active memory in row {first.number}."]}
            if identity in taken and first.action is not RowAction.SKIP:
                found[first.number] = {kind.named: [kind.taken]}
        return found


def _final(row: PlannedRow) -> dict[str, Any]:
    """The fields that the row has once it is imported, as far as they are known now."""
    return {**(row.before or {}), **row.given}


def _fail(row: PlannedRow, reasons: Mapping[str, Sequence[str]]) -> PlannedRow:
    return replace(row, action=RowAction.ERROR, reasons={**row.reasons, **reasons})


def _portions(values: Iterable[Any]) -> Iterator[list[Any]]:
    everything = list(values)
    for start in range(0, len(everything), _AT_ONCE):
        yield everything[start : start + _AT_ONCE]


# What a kind's declaration makes of the fields of a file


def list_links(kind: MemoryKind) -> list[str]:
    """Return the fields of a kind that name another memory of it."""
    columns = {name: kind.column(name) for name in kind.file_fields}
    return [name for name, column in columns.items() if column.related_model is kind.model]


def complete(kind: MemoryKind, given: Mapping[str, Any], *, now: datetime) -> dict[str, Any]:
    """Return all fields of a new row but the ID, those that are not given with what a new memory has."""
    made = given.get(kind.made_at, now)
    absent = {}
    for name in kind.file_fields:
        column = kind.column(name)
        is_made = isinstance(column, models.DateTimeField) and not column.null
        absent[name] = made if is_made else column.get_default()
    return {name: value for name, value in (absent | dict(given)).items() if name != "id"}


def _read_values(kind: MemoryKind, memory: Any) -> dict[str, Any]:
    return {name: getattr(memory, kind.column(name).attname) for name in kind.file_fields}


def _make_reader(kind: MemoryKind, name: str) -> Reader:
    """What takes a field from a file: for what its owner writes the rules of the services, else those of its column."""
    column = kind.column(name)
    match column:
        case models.DateTimeField():
            return read_optional_time if column.null else read_time
        case models.ForeignKey():
            return read_optional_id
        case models.UUIDField():
            return read_id
        case models.BooleanField():
            return read_bool
        case models.PositiveIntegerField():
            return read_count
        case _ if name == "proposal":
            return _read_proposal
        case _ if name in kind.editable:
            return partial(_read_editable, kind, name)
    return read_choice(*(value for value, _label in column.flatchoices))


def _read_editable(kind: MemoryKind, name: str, value: Any) -> Any:
    try:
        (cleaned,) = kind.clean({name: value}).values()
    except JiyiError as error:
        raise ValueError(error.fields[name][0]) from error
    return float(cleaned) if isinstance(kind.column(name), models.FloatField) else cleaned


def _read_proposal(value: Any) -> dict[str, Any] | None:
    """What accepting a pending memory does (A3)."""
    try:
        found = None if value is None else PendingVerdict.from_json(value)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError("Must be null or what an export holds here.") from error
    return found.to_json() if found else None


def _rename_targets(given: Mapping[str, Any], own_ids: Mapping[UUID, UUID]) -> None:
    """Put the IDs that atomic memories get here into what accepting a row does."""
    for target in (given.get("proposal") or {}).get("targets", ()):
        if target["kind"] == KindName.ATOMIC:
            target["id"] = str(own_ids.get(UUID(target["id"]), target["id"]))
