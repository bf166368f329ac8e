"""Finding out what importing rows would do (M4). Reads only."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property, partial
from typing import IO, Any
from uuid import UUID, uuid5

from django.db import models
from django.utils.translation import gettext_noop
from rest_framework import serializers

from apps.accounts.models import User
from apps.accounts.spaces import list_spaces, seen_from
from apps.conversations.models import Message, Session
from apps.core.errors import Conflict, JiyiError
from apps.core.fields import StrictBooleanField, StrictDateTimeField, StrictIntegerField, StrictUUIDField
from apps.core.text.clean import find_forbidden
from apps.memory.judge.types import PendingVerdict
from apps.memory.kinds import ATOMIC, CURRENT, MemoryKind
from apps.memory.models import AtomicSource, Status
from apps.memory.types import KindName
from apps.memory.validation import find_secret_problems

MAX_REPORTED = 1_000  # rows with errors that are told to a client; a file in which more are wrong is wrong altogether


def is_same(one: Any, other: Any) -> bool:
    """Whether two values of a field are the same; as JSON, true is not 1, nor 1 1.0, while an hour has many offsets."""
    if isinstance(one, datetime) and isinstance(other, datetime):
        return one == other
    return json.dumps(one, default=str, sort_keys=True) == json.dumps(other, default=str, sort_keys=True)


class RowAction(StrEnum):
    """What becomes of a row. SKIP: it is there already, just like that. REFUSE: it holds a secret (D4)."""

    CREATE = "create"
    UPDATE = "update"
    SKIP = "skip"
    REFUSE = "refuse"
    ERROR = "error"


class Note(StrEnum):
    """What a row does not keep, and why that is no error."""

    NEW_ID = "new_id"  # somebody else has a memory with this ID: it gets another, and links to it follow

    NO_SESSION = "no_session"  # the session is not one of the person's

    NO_MESSAGE = "no_message"  # the message is not one of the person's

    NO_SUCCESSOR = "no_successor"  # what took its place is neither in the file nor among the person's memories

    NO_SPACE = "no_space"  # the person has no space of this ID or name: it is everywhere

    NO_ORIGIN = "no_origin"  # the memory of which it is the rest is neither in the file nor among the person's memories


Reasons = Mapping[str, Sequence[str]]  # why a row cannot be imported: sentences by field, "" for the row as a whole


@dataclass(frozen=True)
class PlannedRow:
    """What becomes of a row.

    `given` is what the file says, links and references as they will be; `before` what a row that is updated or skipped
    has now, by field. `id` is the one that it has or will have; None for an error, and where it will be made up.
    """

    number: int
    action: RowAction
    id: UUID | None
    given: Mapping[str, Any]
    before: Mapping[str, Any] | None = None
    reasons: Reasons = field(default_factory=dict)
    notes: tuple[Note, ...] = ()

    @cached_property
    def changed(self) -> tuple[str, ...]:
        """The fields that an update changes."""
        before = self.before or {}
        return tuple(name for name, value in self.given.items() if name in before and not is_same(before[name], value))


@dataclass(frozen=True)
class ImportPlan:
    """What an import will do. Two plans with the same `digest` do the same to the same."""

    rows: tuple[PlannedRow, ...]

    @cached_property
    def counts(self) -> Mapping[RowAction, int]:
        """How many rows there are of each action."""
        found = Counter(row.action for row in self.rows)
        return {action: found[action] for action in RowAction}

    @property
    def refused(self) -> list[PlannedRow]:
        return [row for row in self.rows if row.action is RowAction.REFUSE]

    @property
    def errors(self) -> list[PlannedRow]:
        return [row for row in self.rows if row.action is RowAction.ERROR]

    @cached_property
    def digest(self) -> str:
        """A fingerprint of what will be done and of what it is done to; nothing can be read from it."""
        digest = hashlib.sha256()
        for row in self.rows:
            told = [row.number, row.action, row.id, row.given, row.before, row.reasons, row.notes]
            digest.update(json.dumps(told, default=str, sort_keys=True).encode())
        return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did. `operation`: by which it can be undone; None when nothing changed that could be.

    `refused`: rows that hold a secret (D4).
    """

    created: int
    updated: int
    skipped: int
    operation: UUID | None
    refused: Sequence[PlannedRow] = ()


class ImportRefused(JiyiError):
    """422: the file cannot be imported as it is; nothing was written.

    ``fields["errors"]``: ``[{"row": 1, "reasons": {"<field>": ["…"]}}]``, rows counted from 1.
    """

    status, code = 422, "import_refused"

    def __init__(self, message: str, *, plan: ImportPlan | None = None) -> None:
        errors = [] if plan is None else plan.errors
        super().__init__(message, fields={"errors": describe_rows(errors)})


def describe_rows(rows: Sequence[PlannedRow]) -> list[dict[str, Any]]:
    """Return which rows were left out, and why."""
    return [{"row": row.number, "reasons": dict(row.reasons)} for row in rows[:MAX_REPORTED]]


class PlanChanged(Conflict):
    """409: what the file would do is not what was shown before; `plan` is what it would do now. Nothing was written."""

    def __init__(self, plan: ImportPlan) -> None:
        super().__init__("Something has changed since. Look at what would be done now.")
        self.plan = plan


MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_ROWS = 100_000
MAX_COUNT = 2**31 - 1

# Turns a JSON value into what the field holds; raises ValueError with the reason, a sentence.
Reader = Callable[[Any], Any]


def read_upload(file: IO[bytes]) -> list[Any]:
    """Return the items of an uploaded file, read no further than a file may be long. Raises `ImportRefused`."""
    return parse_file(file.read(MAX_FILE_BYTES + 1))


def parse_file(data: bytes) -> list[Any]:
    """Return the items of a file: a JSON array in UTF-8. Raises `ImportRefused`."""
    if len(data) > MAX_FILE_BYTES:
        raise ImportRefused(gettext_noop("The file is larger than 64 MiB."))
    try:
        items = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ImportRefused(gettext_noop("The file is not UTF-8 text.")) from error
    except (ValueError, RecursionError) as error:
        raise ImportRefused(gettext_noop("The file is not JSON.")) from error
    if isinstance(items, dict) and "data" in items:
        raise ImportRefused(gettext_noop("This file is an export of all data. Choose a file with one type of memory."))
    if not isinstance(items, list):
        raise ImportRefused(gettext_noop("The file is not a list of memories: it must begin with [ and end with ]."))
    if len(items) > MAX_ROWS:
        raise ImportRefused(gettext_noop("The file has more than 100,000 rows. Import it in parts."))
    return items


def read_row(number: int, item: Any, *, readers: Mapping[str, Reader], required: tuple[str, ...]) -> PlannedRow:
    """Return the fields of one object, or what is wrong with them."""
    if not isinstance(item, dict):
        return PlannedRow(number, RowAction.ERROR, None, {}, reasons={"": [gettext_noop("This is not an object.")]})
    given: dict[str, Any] = {}
    reasons: dict[str, list[str]] = {}
    for name, value in item.items():
        if name not in readers:
            shown = name[:50] if find_forbidden(name) is None else ""
            reasons[shown] = [gettext_noop("Unknown field.")]
            continue
        try:
            given[name] = readers[name](value)
        except ValueError as error:
            reasons[name] = [str(error)]
    for name in required:
        if name not in item:
            reasons[name] = [gettext_noop("This field is missing.")]
    return PlannedRow(number, RowAction.ERROR if reasons else RowAction.CREATE, None, given, reasons=reasons)


_AT_ONCE = 5_000
# What a file names a space by, beside its ID: it is known by that in another account.
SPACE_NAME = "space_name"
_LEFT_OUT = (RowAction.REFUSE, RowAction.ERROR)
_LINK_NOTES = {"superseded_by": Note.NO_SUCCESSOR, "left_of": Note.NO_ORIGIN}


def plan_import(*, user: User, kind: MemoryKind, items: Sequence[Any]) -> ImportPlan:
    """Return what importing these objects into a person's memories of a kind would do to each of them.

    A free ID is kept, one of the person's own is updated or, with nothing new, skipped. Where somebody else has it, the
    row gets another, always the same one, so that importing a file again finds what it made. A few queries for each
    5,000 rows. A space is found by its ID, else by its name. For a person who looks from a space all goes there, and
    what they have elsewhere is as somebody else's.
    """
    readers = {name: _make_reader(kind, name) for name in kind.file_fields} | {SPACE_NAME: _read_name}
    required = tuple(field.name for field in kind.fields if field.required)
    rows = [read_row(number, item, readers=readers, required=required) for number, item in enumerate(items, 1)]
    return _Planner(user=user, kind=kind, rows=rows).plan()


class _Planner:
    def __init__(self, *, user: User, kind: MemoryKind, rows: Sequence[PlannedRow]) -> None:
        self._user, self._kind, self._rows = user, kind, rows
        self._mine = kind.changeable(user)
        others = kind.model.objects.exclude(pk__in=self._mine.order_by().values("pk"))
        names_any = any(row.given.get("space") or row.given.get(SPACE_NAME) for row in rows)
        spaces = list_spaces(user) if names_any and user.sight.space is None else []
        self._spaces: dict[Any, UUID] = {key: space.id for space in spaces for key in (space.id, space.name.lower())}
        # An ID that is made up is another one in each space.
        within = f".{user.sight.space}" if user.sight.space else ""
        ids = {row.given["id"] for row in rows if "id" in row.given}
        foreign = _find(others, ids)
        self._own_ids = {
            asked: uuid5(asked, f"jiyi.import.{user.pk}{within}") if asked in foreign else asked for asked in ids
        }
        if replaced := {self._own_ids[asked] for asked in foreign}:
            # Taken in turn, which takes intent: then the database makes one up that nobody can foresee.
            taken = _find(others, replaced)
            self._own_ids = {asked: made for asked, made in self._own_ids.items() if made not in taken}
        own_ids = self._own_ids.values()
        self._known = {row.id: row for portion in _portions(own_ids) for row in self._mine.filter(id__in=portion)}
        self._sessions = _find(Session.objects.filter(seen_from(user), user=user), self._list_given("session_id"))
        messages = Message.objects.filter(seen_from(user, "session__space"), user=user)
        self._messages = _find(messages, self._list_given("message_id"))
        self._linked = _find(self._mine, {asked for name in list_links(kind) for asked in self._list_given(name)} - ids)

    def _list_given(self, name: str) -> set[UUID]:
        return {value for row in self._rows if (value := row.given.get(name)) is not None}

    def plan(self) -> ImportPlan:
        planned = self._leave_out_secrets([self._plan(row) for row in self._rows])
        planned = self._refuse(planned, self._find_repeated_ids())
        planned = self._refuse(planned, self._find_circles(planned))
        return ImportPlan(tuple(self._refuse(planned, self._find_clashes(planned))))

    def _leave_out_secrets(self, planned: Sequence[PlannedRow]) -> list[PlannedRow]:
        """Refuse what holds a secret (D4); links to it lead nowhere."""
        refused = {
            self._own_ids.get(row.given.get("id"))
            for row in self._rows
            if not row.reasons and find_secret_problems(row.given)
        } - {None, *self._known}
        left = []
        for row in planned:
            if row.action is not RowAction.ERROR and (problems := find_secret_problems(row.given)):
                left.append(PlannedRow(row.number, RowAction.REFUSE, None, {}, reasons=problems))
                continue
            lost = [name for name in list_links(self._kind) if row.given.get(name) in refused]
            if refused and lost:
                given = {**row.given, **dict.fromkeys(lost)}
                row = replace(row, given=given, notes=(*row.notes, *(_LINK_NOTES[name] for name in lost)))
            left.append(row)
        return left

    def _plan(self, row: PlannedRow) -> PlannedRow:
        if row.reasons:
            return row
        given, notes = dict(row.given), []
        asked = given.pop("id", None)
        own_id = self._own_ids.get(asked) if asked else None
        if own_id != asked:
            notes.append(Note.NEW_ID)
        self._place(given, notes)
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
        found = PlannedRow(row.number, RowAction.CREATE, own_id, given, before, notes=tuple(notes))
        if before is not None:
            found = replace(found, action=RowAction.UPDATE if found.changed else RowAction.SKIP)
        final = _final(found)
        if found.action is not RowAction.SKIP and (reason := self._kind.find_problem(final)):
            return _fail(found, {"event_end": [reason]})
        is_current = final.get("status", Status.ACTIVE) in CURRENT
        if found.action is not RowAction.SKIP and is_current and final.get("superseded_by") is not None:
            return _fail(found, {"superseded_by": [gettext_noop("Only a superseded memory can have a successor.")]})
        return found

    def _place(self, given: dict[str, Any], notes: list[Note]) -> None:
        """Put in the row's space what the person's own is that the file means, or where the person looks from."""
        named, here = given.pop(SPACE_NAME, "").lower(), self._user.sight.space
        if here is not None:
            given["space"] = here
        elif named or given.get("space") is not None:
            given["space"] = self._spaces.get(given.get("space"), self._spaces.get(named))
            if given["space"] is None:
                notes.append(Note.NO_SPACE)

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
                found[row.number] = {
                    "superseded_by": [gettext_noop("The chain of replacements leads back to this memory.")]
                }
        return found

    def _find_clashes(self, planned: Sequence[PlannedRow]) -> dict[int, dict[str, list[str]]]:
        """Rows that would be a second active memory of one identity: in the file, or beside what is stored."""
        kind = self._kind
        active: defaultdict[tuple[str, str, str], list[PlannedRow]] = defaultdict(list)
        for row in planned:
            final = _final(row)
            if row.action not in _LEFT_OUT and final.get("status", Status.ACTIVE) == Status.ACTIVE:
                active[self._name(kind.identify(final), final.get("space"), final.get("source"))].append(row)
        stored = self._mine.filter(status=Status.ACTIVE)
        in_file = {row.id for row in planned if row.id is not None and row.action not in _LEFT_OUT}
        taken = {
            self._name(identity, space_id, source)
            for portion in _portions({identity for identity, *_rest in active})
            for memory_id, identity, space_id, source in stored.filter(**{f"{kind.identity}__in": portion}).values_list(
                "id", kind.identity, "space_id", "source"
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

    def _name(self, identity: str, space_id: UUID | None, source: str | None) -> tuple[str, str, str]:
        """What no two active memories of a space share: the assistant may say what the person says, too (A6)."""
        place, said_by = str(space_id or ""), str(source or AtomicSource.USER_STATED)
        return identity, place, said_by if self._kind is ATOMIC else ""


def _final(row: PlannedRow) -> dict[str, Any]:
    """The fields that the row has once it is imported, as far as they are known now."""
    return {**(row.before or {}), **row.given}


def _fail(row: PlannedRow, reasons: Mapping[str, Sequence[str]]) -> PlannedRow:
    return replace(row, action=RowAction.ERROR, reasons={**row.reasons, **reasons})


def _find(rows: Any, ids: Collection[UUID]) -> set[UUID]:
    """Return those of the IDs that the rows have."""
    return {found for portion in _portions(ids) for found in rows.filter(id__in=portion).values_list("id", flat=True)}


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
    field: serializers.Field[Any, Any, Any, Any]
    match column:
        case models.DateTimeField():
            reason = gettext_noop("Must be an ISO 8601 time with an offset, such as 2026-11-20T08:30:00Z.")
            field = StrictDateTimeField(allow_null=column.null, default_timezone=UTC)
        case models.ForeignKey() | models.UUIDField():
            reason, field = gettext_noop("Must be a UUID."), StrictUUIDField(allow_null=column.null)
        case models.BooleanField():
            reason, field = "Must be true or false.", StrictBooleanField()
        case models.PositiveIntegerField():
            reason = gettext_noop("Must be a whole number that is not negative.")
            field = StrictIntegerField(min_value=0, max_value=MAX_COUNT)
        case _ if name == "proposal":
            return _read_proposal
        case _ if name in kind.editable:
            return partial(_read_editable, kind, name)
        case _:
            choices = [value for value, _label in column.flatchoices]
            reason, field = f"Must be one of: {', '.join(choices)}.", serializers.ChoiceField(choices)
    return partial(_read_field, field, reason)


def _read_field(field: serializers.Field[Any, Any, Any, Any], reason: str, value: Any) -> Any:
    try:
        return field.run_validation(value)
    except serializers.ValidationError as error:
        raise ValueError(reason) from error


def _read_editable(kind: MemoryKind, name: str, value: Any) -> Any:
    if find_secret_problems({name: value}):
        return value  # the row is refused as a whole, and no error of the file
    try:
        (cleaned,) = kind.clean({name: value}).values()
    except JiyiError as error:
        raise ValueError(error.fields[name][0]) from error
    return float(cleaned) if isinstance(kind.column(name), models.FloatField) else cleaned


def _read_name(value: Any) -> str:
    if isinstance(value, str) and find_forbidden(value) is None:
        return value.strip()
    raise ValueError("Must be the name of a space.")


def _read_proposal(value: Any) -> dict[str, Any] | None:
    """What accepting a pending memory does (A3)."""
    try:
        found = None if value is None else PendingVerdict.from_json(value)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(gettext_noop("Must be null or what an export holds here.")) from error
    return found.to_json() if found else None


def _rename_targets(given: Mapping[str, Any], own_ids: Mapping[UUID, UUID]) -> None:
    """Put the IDs that atomic memories get here into what accepting a row does."""
    for target in (given.get("proposal") or {}).get("targets", ()):
        if target["kind"] == KindName.ATOMIC:
            target["id"] = str(own_ids.get(UUID(target["id"]), target["id"]))
