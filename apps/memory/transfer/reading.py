"""Reading a file of memories: an array of objects, each field checked by itself. Pure: no Django, no database."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import IO, Any
from uuid import UUID

from apps.core.text.clean import find_forbidden
from apps.core.times import exists_everywhere
from apps.memory.transfer.types import ImportRefused, ReadRow

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
