"""Files of memories: reading them row by row, and what an import is going to do with each row (M4). No Django."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import IO, Any
from uuid import UUID

from apps.core.errors import Conflict, JiyiError
from apps.core.text.clean import find_forbidden
from apps.core.times import exists_everywhere

MAX_REPORTED = 1_000
"""Rows with errors that are told to a client; a file in which more are wrong is wrong altogether."""


def is_same(one: Any, other: Any) -> bool:
    """Whether two values of a field are the same; as JSON, true is not 1, nor 1 1.0, while an hour has many offsets."""
    if isinstance(one, datetime) and isinstance(other, datetime):
        return one == other
    return json.dumps(one, default=str, sort_keys=True) == json.dumps(other, default=str, sort_keys=True)


class RowAction(StrEnum):
    """What becomes of a row. SKIP: it is there already, just like that."""

    CREATE = "create"
    UPDATE = "update"
    SKIP = "skip"
    ERROR = "error"


class Note(StrEnum):
    """What a row does not keep, and why that is no error."""

    NEW_ID = "new_id"
    """Somebody else has a memory with this ID: it gets another, and links to it follow."""

    NO_SESSION = "no_session"
    """The session is not one of the person's."""

    NO_MESSAGE = "no_message"
    """The message is not one of the person's."""

    NO_SUCCESSOR = "no_successor"
    """What took its place is neither in the file nor among the person's memories."""

    NO_ORIGIN = "no_origin"
    """The memory of which it is the rest is neither in the file nor among the person's memories."""


Reasons = Mapping[str, Sequence[str]]
"""Why a row cannot be imported: sentences by field, "" for the row as a whole."""


@dataclass(frozen=True, slots=True)
class ReadRow:
    """A row of a file as it was read. `given`: the fields that it has, as Python values; `reasons`: what is wrong."""

    number: int
    given: Mapping[str, Any] = field(default_factory=dict)
    reasons: Reasons = field(default_factory=dict)


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
    """What an import did. `operation`: by which it can be undone; None when nothing changed that could be."""

    created: int
    updated: int
    skipped: int
    operation: UUID | None


class ImportRefused(JiyiError):
    """422: the file cannot be imported as it is; nothing was written.

    ``fields["errors"]``: ``[{"row": 1, "reasons": {"<field>": ["…"]}}]``, rows counted from 1.
    """

    status, code = 422, "import_refused"

    def __init__(self, message: str, *, plan: ImportPlan | None = None) -> None:
        errors = [] if plan is None else plan.errors
        told = [{"row": row.number, "reasons": dict(row.reasons)} for row in errors[:MAX_REPORTED]]
        super().__init__(message, fields={"errors": told})


class PlanChanged(Conflict):
    """409: what the file would do is not what was shown before; `plan` is what it would do now. Nothing was written."""

    def __init__(self, plan: ImportPlan) -> None:
        super().__init__("Something has changed since. Look at what would be done now.")
        self.plan = plan


MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_ROWS = 100_000
MAX_COUNT = 2**31 - 1

Reader = Callable[[Any], Any]
"""Turns a JSON value into what the field holds; raises ValueError with the reason, a sentence."""


def read_upload(file: IO[bytes]) -> list[Any]:
    """Return the items of an uploaded file, read no further than a file may be long. Raises `ImportRefused`."""
    return parse_file(file.read(MAX_FILE_BYTES + 1))


def parse_file(data: bytes) -> list[Any]:
    """Return the items of a file: a JSON array in UTF-8. Raises `ImportRefused`."""
    if len(data) > MAX_FILE_BYTES:
        raise ImportRefused("The file is larger than 64 MiB.")
    try:
        items = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ImportRefused("The file is not UTF-8 text.") from error
    except (ValueError, RecursionError) as error:
        raise ImportRefused("The file is not JSON.") from error
    if isinstance(items, dict) and "data" in items:
        raise ImportRefused("This file is an export of all data. Choose a file with one type of memory.")
    if not isinstance(items, list):
        raise ImportRefused("The file is not a list of memories: it must begin with [ and end with ].")
    if len(items) > MAX_ROWS:
        raise ImportRefused("The file has more than 100,000 rows. Import it in parts.")
    return items


def read_row(number: int, item: Any, *, readers: Mapping[str, Reader], required: tuple[str, ...]) -> ReadRow:
    """Return the fields of one object, or what is wrong with them."""
    if not isinstance(item, dict):
        return ReadRow(number=number, reasons={"": ["This is not an object."]})
    given: dict[str, Any] = {}
    reasons: dict[str, list[str]] = {}
    for name, value in item.items():
        if name not in readers:
            shown = name[:50] if find_forbidden(name) is None else ""
            reasons[shown] = ["Unknown field."]
            continue
        try:
            given[name] = readers[name](value)
        except ValueError as error:
            reasons[name] = [str(error)]
    for name in required:
        if name not in item:
            reasons[name] = ["This field is missing."]
    return ReadRow(number=number, given=given, reasons=reasons)


def read_id(value: Any) -> UUID:
    """A UUID in its usual form."""
    if isinstance(value, str) and len(value) == 36:
        try:
            return UUID(value)
        except ValueError:
            pass
    raise ValueError("Must be a UUID.")


def read_optional_id(value: Any) -> UUID | None:
    return None if value is None else read_id(value)


def read_time(value: Any) -> datetime:
    """A time in ISO 8601 with its offset from UTC."""
    if isinstance(value, str):
        try:
            time = datetime.fromisoformat(value)
        except ValueError:
            pass
        else:
            if time.tzinfo is not None and exists_everywhere(time):
                return time
    raise ValueError("Must be an ISO 8601 time with an offset, such as 2026-11-20T08:30:00Z.")


def read_optional_time(value: Any) -> datetime | None:
    return None if value is None else read_time(value)


def read_count(value: Any) -> int:
    """A whole number, not below 0."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT:
        return value
    raise ValueError("Must be a whole number that is not negative.")


def read_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError("Must be true or false.")


def read_choice(*choices: str) -> Reader:
    """One of these words."""

    def read(value: Any) -> str:
        if isinstance(value, str) and value in choices:
            return value
        raise ValueError(f"Must be one of: {', '.join(choices)}.")

    return read
