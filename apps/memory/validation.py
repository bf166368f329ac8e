"""What the fields of memories may hold, for every door: a person's input is refused, a model's entry skipped."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apps.core.errors import InvalidInput, TooLarge
from apps.core.text.clean import find_forbidden
from apps.core.text.fold import normalize_key
from apps.core.times import exists_everywhere
from apps.memory.models import Category, Source

MAX_KEY_CHARACTERS = 200
MAX_KEY_BYTES = 2000
"""Of the normalised key: unfolding can lengthen it, and PostgreSQL refuses index entries over 2,704 bytes."""

MAX_VALUE_CHARACTERS = 32_000
"""Of a value as JSON."""


def measure_value(value: Any) -> int:
    """Return the size of a JSON value in characters, as it is stored and shown."""
    return len(json.dumps(value, ensure_ascii=False))


def is_blank(value: Any) -> bool:
    """Whether a value says nothing: null, or a string of whitespace."""
    return value is None or (isinstance(value, str) and not value.strip())


def is_share(value: object) -> bool:
    """Whether a value is a number from 0 to 1; true and NaN are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def find_problems(fields: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return why each of the given fields of a memory is not acceptable, by name; empty when all are."""
    problems: dict[str, list[str]] = {}
    for name, value in fields.items():
        if problem := _find_problem(name, value):
            problems[name] = [problem]
    return problems


def _find_problem(name: str, value: Any) -> str | None:
    if found := find_forbidden(value):
        return f"Must not contain {found}."
    match name:
        case "category" if value not in Category.values:
            return f"Must be one of: {', '.join(Category.values)}."
        case "source" if value not in Source.values:
            return f"Must be one of: {', '.join(Source.values)}."
        case "confidence" if not is_share(value):
            return "Must be a number from 0 to 1."
        case "value" if is_blank(value):
            return "Must not be null or blank."
        case "key":
            return _find_key_problem(value)
    return None


def _find_key_problem(key: Any) -> str | None:
    if not isinstance(key, str):
        return "Must be text."
    if not key.strip():
        return "Must not be blank."
    if len(key.strip()) > MAX_KEY_CHARACTERS or len(normalize_key(key).encode()) > MAX_KEY_BYTES:
        return f"Must have at most {MAX_KEY_CHARACTERS} characters."
    return None


def check_long_term(fields: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` with the reasons by field, or `TooLarge` for a value over 32,000 characters of JSON."""
    _refuse(find_problems(fields))
    if "value" in fields and measure_value(fields["value"]) > MAX_VALUE_CHARACTERS:
        message = f"The value has over {MAX_VALUE_CHARACTERS:,} characters of JSON."
        raise TooLarge(message, fields={"value": [message]})


MAX_CONTENT_CHARACTERS = 32_000
"""What is extracted is much shorter: `memory.atomic_content_max_length`."""

MAX_TAG_CHARACTERS = 50
MAX_TAGS = 50

OUT_OF_RANGE = "Out of range: it has no valid date in some time zones."


def check_atomic(fields: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` with the reasons by field, or `TooLarge` for a content of over 32,000 characters.

    Looks at what is there of `content`, `tags`, `timestamp`, `event_start` and `event_end`.
    """
    problems = {name: [problem] for name, value in fields.items() if (problem := _find_atomic_problem(name, value))}
    if not problems and (problem := find_event_problem(fields.get("event_start"), fields.get("event_end"))):
        problems["event_end"] = [problem]
    _refuse(problems)
    if len(fields.get("content", "")) > MAX_CONTENT_CHARACTERS:
        message = f"The content has over {MAX_CONTENT_CHARACTERS:,} characters."
        raise TooLarge(message, fields={"content": [message]})


def find_event_problem(start: datetime | None, end: datetime | None) -> str | None:
    """Return why an event cannot have these times, None when it can."""
    if any(time is not None and not exists_everywhere(time) for time in (start, end)):
        return OUT_OF_RANGE
    if end is None:
        return None
    if start is None:
        return "Requires event_start."
    return "Must not be before event_start." if end < start else None


def _find_atomic_problem(name: str, value: Any) -> str | None:
    if name == "timestamp" and value is not None and not exists_everywhere(value):
        return OUT_OF_RANGE
    if name not in ("content", "tags"):
        return None
    if found := find_forbidden(value):
        return f"Must not contain {found}."
    match name:
        case "content" if not isinstance(value, str) or not value.strip():
            return "Must be text that is not blank."
        case "tags" if not isinstance(value, list | tuple) or len(value) > MAX_TAGS:
            return f"Must be a list of at most {MAX_TAGS} tags."
        case "tags" if any(not isinstance(tag, str) or not 0 < len(tag.strip()) <= MAX_TAG_CHARACTERS for tag in value):
            return f"Each tag must be text of 1 to {MAX_TAG_CHARACTERS} characters."
    return None


def _refuse(problems: Mapping[str, list[str]]) -> None:
    if problems:
        name, (reason,) = next(iter(problems.items()))
        raise InvalidInput(f"{name}: {reason}", fields=problems)
