"""What the fields of an atomic memory may hold, when a person writes them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apps.core.errors import InvalidInput, TooLarge
from apps.core.text.clean import find_forbidden
from apps.core.times import exists_everywhere

MAX_CONTENT_CHARACTERS = 32_000
"""SPEC, API. What is extracted is much shorter: `memory.atomic_content_max_length`."""

MAX_TAG_CHARACTERS = 50
MAX_TAGS = 50

OUT_OF_RANGE = "Out of range: it has no valid date in some time zones."


def check_fields(fields: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` with the reasons by field, or `TooLarge` for a content of over 32,000 characters.

    Looks at what is there of `content`, `tags`, `timestamp`, `event_start` and `event_end`.
    """
    problems = {name: [problem] for name, value in fields.items() if (problem := _find_problem(name, value))}
    if not problems and (problem := find_event_problem(fields.get("event_start"), fields.get("event_end"))):
        problems["event_end"] = [problem]
    if problems:
        name, (reason,) = next(iter(problems.items()))
        raise InvalidInput(f"{name}: {reason}", fields=problems)
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


def _find_problem(name: str, value: Any) -> str | None:
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
