"""A memory's value as one types it: text is text, lines with a dash are a list, JSON is JSON; and its tags. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any, NoReturn

_DASH = "- "
_BETWEEN_TAGS = re.compile(r"[,，、;；\n]")
_OPENINGS = ('"', "[", "{")


class NotJson(ValueError):
    """A text begins like JSON and is none. ``line`` and ``column`` (from 1): where it goes wrong."""

    def __init__(self, line: int, column: int) -> None:
        super().__init__(f"line {line}, column {column}")
        self.line, self.column = line, column


def read_value(text: str) -> Any:
    """Return the JSON value of a typed text.

    Numbers, true, false, null, and what begins with a quote, a bracket or a brace are JSON. Where every line begins
    with a dash, it is a list of texts, one a line. All else is a text, without the whitespace around it. Raises
    `NotJson` for what begins like JSON and is none: quotes make a text of it. Line ends are read as browsers send them.
    """
    stripped = text.replace("\r\n", "\n").strip()
    if (items := _read_lines(stripped)) is not None:
        return items
    try:
        return json.loads(stripped, parse_constant=_refuse, parse_float=_read_float)
    except json.JSONDecodeError as error:
        if stripped.startswith(_OPENINGS):
            raise NotJson(error.lineno, error.colno) from error
    except (ValueError, RecursionError) as error:  # NaN, a number beyond all floats, or a thousand brackets
        if stripped.startswith(_OPENINGS):
            raise NotJson(1, 1) from error
    return stripped


def write_value(value: Any) -> str:
    """Return the text to type for a value: `read_value` makes the same of it. Only where it must, a text has quotes."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        lines = "\n".join(f"{_DASH}{item}" for item in value)
        if _read_lines(lines) == value:
            return lines
    if isinstance(value, str):
        try:
            plain = read_value(value) == value
        except NotJson:
            plain = False
        return value if plain else json.dumps(value, ensure_ascii=False)
    indented = isinstance(value, dict | list) and bool(value)
    return json.dumps(value, ensure_ascii=False, indent=2 if indented else None)


def _read_lines(text: str) -> list[str] | None:
    """The items of a list typed with a dash before each; None where a line has none."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if not lines or not all(line.startswith(_DASH) for line in lines):
        return None
    return [line.removeprefix(_DASH).strip() for line in lines]


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _read_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is too large")
    return number


def read_tags(text: str) -> list[str]:
    """Return the tags of a typed text: between commas and semicolons, Chinese ones too, and on lines of their own."""
    return list(dict.fromkeys(tag for part in _BETWEEN_TAGS.split(text) if (tag := part.strip())))


def write_tags(tags: Iterable[str]) -> str:
    """Return the text to type for tags."""
    return ", ".join(tags)
