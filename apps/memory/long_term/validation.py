"""What the fields of a memory may hold, for every door: a person's input is refused, a model's entry skipped."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from apps.core.errors import InvalidInput, TooLarge
from apps.core.text.clean import find_forbidden
from apps.core.text.fold import normalize_key
from apps.memory.models import Category, Source

MAX_KEY_CHARACTERS = 200
MAX_KEY_BYTES = 2000
"""Of the normalised key: unfolding can lengthen it, and PostgreSQL refuses index entries over 2,704 bytes."""

MAX_VALUE_CHARACTERS = 32_000
"""Of a value as JSON (SPEC, API)."""


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


def check_fields(fields: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` with the reasons by field, or `TooLarge` for a value over 32,000 characters of JSON."""
    if problems := find_problems(fields):
        name, (reason,) = next(iter(problems.items()))
        raise InvalidInput(f"{name}: {reason}", fields=problems)
    if "value" in fields and measure_value(fields["value"]) > MAX_VALUE_CHARACTERS:
        message = f"The value has over {MAX_VALUE_CHARACTERS:,} characters of JSON."
        raise TooLarge(message, fields={"value": [message]})
