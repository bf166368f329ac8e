"""Texts as people type and compare them: numbers, values, tags, differences, words looked for. Pure: no Django."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal, NoReturn
from uuid import UUID

from apps.core.text.fold import fold
from apps.core.text.keywords import extract_keywords, stem
from apps.core.text.search import bm25_terms, find_ranges
from apps.core.text.segment import pieces

_DASH = "- "
_BETWEEN_TAGS = re.compile(r"[,，、;；\n]")
_OPENINGS = ('"', "[", "{")


def read_number(text: str | None) -> int | None:
    """Return the whole number, not below 0, of a parameter; None for any other text, and for one beyond a bigint."""
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) <= 18 else None


def read_id(text: str | None) -> UUID | None:
    """Return the UUID of a parameter; None for any other text."""
    try:
        return UUID(text or "")
    except ValueError:
        return None


def shorten(text: str, limit: int) -> str:
    """Return a text, or where it is longer than `limit` characters, those of its beginning and an ellipsis."""
    return text if len(text) <= limit else f"{text[:limit]}…"


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
    return ", ".join(tags)


Part = tuple[Literal["same", "gone", "new"], str]

# Words a side that are compared one by one, once what both begin and end with is set aside: the time is quadratic.
MAX_COMPARED = 1_500

_BETWEEN_WORDS = re.compile(r"\s+|\S")


def word_difference(before: str, after: str) -> list[Part]:
    """Return the parts of both texts in order, neighbours never of one kind, what is gone before what is new there.

    Without the new parts they are `before` again, without those gone `after`. Space alone between two changes counts
    as changed with them, so that "red car" to "blue bus" is one change. Texts with more than `MAX_COMPARED` changed
    words count as changed throughout.
    """
    old, new = _tokens(before), _tokens(after)
    start = _count_common(old, new)
    end = _count_common(old[start:][::-1], new[start:][::-1])
    old_end, new_end = len(old) - end, len(new) - end
    parts: list[Part] = [("same", "".join(old[:start]))]
    parts += _compare(old[start:old_end], new[start:new_end])
    parts.append(("same", "".join(old[old_end:])))
    return list(_join(parts))


def shorten_same(parts: Sequence[Part], *, keep: int = 80) -> list[Part]:
    """Cut what stayed the same to `keep` characters next to each change, "…" in place of the rest."""
    shortened: list[Part] = []
    for index, (kind, text) in enumerate(parts):
        head = text[:keep] if index > 0 else ""
        tail = text[-keep:] if index < len(parts) - 1 else ""
        long = kind == "same" and len(text) > len(head) + len(tail) + 1
        shortened.append((kind, f"{head}…{tail}") if long else (kind, text))
    return shortened


def _tokens(text: str) -> list[str]:
    return [
        token for piece in pieces(text) for token in ([piece] if _is_word(piece) else _BETWEEN_WORDS.findall(piece))
    ]


def _is_word(piece: str) -> bool:
    return any(map(str.isalnum, piece))


def _count_common(old: Sequence[str], new: Sequence[str]) -> int:
    count = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        count += 1
    return count


def _compare(old: Sequence[str], new: Sequence[str]) -> Iterator[Part]:
    if max(len(old), len(new)) > MAX_COMPARED:
        yield ("gone", "".join(old))
        yield ("new", "".join(new))
        return
    for kind, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            yield ("same", "".join(old[start:end]))
        else:
            yield ("gone", "".join(old[start:end]))
            yield ("new", "".join(new[new_start:new_end]))


def _join(parts: Sequence[Part]) -> Iterator[Part]:
    """Neighbours of one kind as one, empty ones left out, space between changes as part of them."""
    told = [part for part in parts if part[1]]
    gone = new = ""
    for index, (kind, text) in enumerate(told):
        if kind == "gone":
            gone += text
        elif kind == "new":
            new += text
        elif (gone or new) and text.isspace() and index < len(told) - 1:
            gone, new = gone + text, new + text
        else:
            yield from _list_told(gone, new)
            gone = new = ""
            yield ("same", text)
    yield from _list_told(gone, new)


def _list_told(gone: str, new: str) -> Iterator[Part]:
    if gone:
        yield ("gone", gone)
    if new:
        yield ("new", new)


MAX_NEEDLES, MAX_KEYWORDS = 50, 30


def list_keywords(memory: str) -> list[str]:
    """Return the keywords and stems of a memory's text, to be marked in what was said, the longest first."""
    words = extract_keywords(memory, limit=MAX_KEYWORDS)
    return sorted({*words, *map(stem, words)}, key=lambda word: (-len(word), word))


def list_needles(query: str) -> list[str]:
    """Return the folded words and stems of `query` that are worth marking, the longest first."""
    words = {*bm25_terms(query), *fold(query).split()}
    return sorted(words, key=lambda word: (-len(word), word))[:MAX_NEEDLES]


def split_found(text: str, needles: Sequence[str]) -> list[tuple[bool, str]]:
    """Cut `text` into pieces, and say of each whether it is a word that was looked for; joined they are `text`."""
    pieces: list[tuple[bool, str]] = []
    end = 0
    for start, stop in find_ranges(text, needles):
        if start > end:
            pieces.append((False, text[end:start]))
        pieces.append((True, text[start:stop]))
        end = stop
    if end < len(text):
        pieces.append((False, text[end:]))
    return pieces
