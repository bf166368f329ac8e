"""Read what a model answered: the JSON object, however badly it is written (E5), or plain text (E6, C6).

A model may think before its answer, fence it, cut it, misquote it, repeat keys, or write 1 MB of brackets.
`read_json_object` never raises, takes bounded time, and says whether the object had to be repaired: only JSON that
needed no repair may become memory.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, SupportsIndex

from json_repair import repair_json

from apps.core.llm.reasoning import ReasoningFilter, remove_reasoning
from apps.core.text.clean import clean_json

# Broken answers longer than this are not repaired. A reply has at most 32,000 characters.
MAX_REPAIRED_CHARS = 64_000

# What repairing may cost: ordinary damage takes 1 to 8 reads a character, hostile input is quadratic.
_READS_PER_CHAR = 20

_FENCE = re.compile(r"`{3,}\w*")
_BLANK = " \t\r\n\ufeff"

_OBJECT = re.compile(r"\{(?=\s*[\"}])")
# What stands before an object that is part of another one, or of a list.
_INSIDE = re.compile(r"(?:\[|(?:[\"'\]}\d]|true|false|null)\s*,|[\"']\s*:)\s*\Z")

# Objects in a text that may turn out broken: each is read to its end.
_MAX_BROKEN = 50

_MAX_WRAPPINGS = 3


@dataclass(frozen=True, slots=True)
class ReadResult:
    """`value`: the object, or None if there is none. `repaired`: it was not valid JSON.

    Strings in `value`, keys included, hold no U+0000 and no lone surrogate; numbers are finite.
    """

    value: dict[str, Any] | None
    repaired: bool


def read_json_object(text: str, *, keys: Collection[str] = ()) -> ReadResult:
    """Return the JSON object that `text` consists of.

    Reasoning before it (`remove_reasoning`), a byte order mark, white space around it and a Markdown fence are
    removed; that is no repair. Valid JSON is taken as it is (of a repeated key the last counts). `keys`: those that
    the object was asked to have; one complete object with any of them is taken out of the words or the wrapping around
    it without repair. Of several different ones the last counts, or the one that the text begins with, as repaired.
    Anything else goes through json-repair: cut ends, single quotes; so do NaN and numbers beyond a float's range,
    which come out as text or None. Arrays, scalars, texts without an object, and objects nested deeper than
    `apps.core.text.clean.MAX_DEPTH` give None.
    """
    body = _remove_fence(remove_reasoning(clean_answer(text)))
    if "{" not in body:
        return ReadResult(value=None, repaired=False)
    repaired = False
    try:
        value = _unwrap(_DECODER.decode(body), keys)
    except (ValueError, RecursionError):
        found = find_objects(body, keys=keys)
        leads = bool(found) and not body[: found[0][0]].strip(_BLANK)
        value = found[0 if leads else -1][1] if found else _repair(body)
        repaired = any(other != value for _, other in found) or not found
    try:
        value = clean_json(value)
    except ValueError:
        value = None
    return ReadResult(value=value, repaired=repaired) if isinstance(value, dict) else ReadResult(None, repaired=False)


def find_objects(text: str, *, keys: Collection[str]) -> list[tuple[int, dict[str, Any]]]:
    """Return the complete JSON objects in a text that have one of `keys`, with where each begins.

    None that is part of an object or a list that is itself broken: half an answer is no answer.
    """
    found, at, tries = list[tuple[int, dict[str, Any]]](), 0, 0
    while keys and tries < _MAX_BROKEN and (opener := _OBJECT.search(text, at)):
        at = opener.end()
        if _INSIDE.search(text, max(0, opener.start() - 20), opener.start()):
            continue
        try:
            value, at = _DECODER.raw_decode(text, opener.start())
        except (ValueError, RecursionError):
            tries += 1
            continue
        value = _unwrap(value, keys)
        if isinstance(value, dict) and not value.keys().isdisjoint(keys):
            found.append((opener.start(), value))
    return found


def _unwrap(value: Any, keys: Collection[str]) -> Any:
    """Return the object with `keys` that is the only thing in a list or in another object; else `value` itself."""
    inner = value
    for _ in range(_MAX_WRAPPINGS):
        if isinstance(inner, dict) and not inner.keys().isdisjoint(keys):
            return inner
        if not isinstance(inner, dict | list) or len(inner) != 1:
            break
        [inner] = inner.values() if isinstance(inner, dict) else inner
    return value


def clean_answer(text: str) -> str:
    """Return `text` without U+0000 and lone surrogates; two halves of a pair side by side become their character."""
    if text.isascii():
        return text.replace("\0", "")
    return text.replace("\0", "").encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")


def _remove_fence(text: str) -> str:
    """Return `text` without white space around it and without a Markdown fence; the closing one may be missing."""
    body = text.strip(_BLANK)
    fence = _FENCE.match(body)
    return body[fence.end() :].rstrip("`" + _BLANK) if fence else body


def _parse_finite(literal: str) -> float:
    """Return the number; ValueError for what JSON does not know (NaN) or a float cannot hold (1e999)."""
    number = float(literal)
    if not math.isfinite(number):
        raise ValueError(f"{literal} is not finite.")
    return number


_DECODER = json.JSONDecoder(parse_float=_parse_finite, parse_constant=_parse_finite)


def _repair(body: str) -> Any:
    if len(body) > MAX_REPAIRED_CHARS:
        return None
    try:
        return repair_json(_MeteredText(body), return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError, _TooCostly):
        return None


class _TooCostly(Exception):
    """Repairing this text would take too long."""


class _MeteredText(str):
    """A text that can be read a limited number of times: it ends json-repair's quadratic searches.

    json-repair indexes the text it is given character by character, and asks for its length while searching.
    """

    __slots__ = ("_reads_left",)

    def __init__(self, text: str) -> None:
        self._reads_left = 10_000 + _READS_PER_CHAR * len(text)

    def __getitem__(self, index: SupportsIndex | slice) -> str:
        self._spend()
        return super().__getitem__(index)

    def __len__(self) -> int:
        self._spend()
        return super().__len__()

    def _spend(self) -> None:
        self._reads_left -= 1
        if self._reads_left < 0:
            raise _TooCostly


class AnswerCleaner:
    """`clean_answer` for an answer that comes in pieces: the halves of a surrogate pair may come in two of them."""

    def __init__(self) -> None:
        self._half_pair = ""

    def feed(self, piece: str) -> str:
        """Take the next piece and return it cleaned; a half pair at its end waits for the next one."""
        text = (self._half_pair + piece).replace("\0", "")
        end = len(text) - ("\ud800" <= text[-1:] <= "\udbff")
        self._half_pair = text[end:]
        return clean_answer(text[:end])


class TextStream:
    """Passes a streamed plain answer on without reasoning, U+0000 and lone surrogates.

    What comes out depends on the text alone, never on where it was split.
    """

    def __init__(self) -> None:
        self._reasoning = ReasoningFilter()
        self._cleaner = AnswerCleaner()

    def feed(self, piece: str) -> str:
        """Take the next piece of the answer and return the text that it makes certain, possibly empty."""
        return self._cleaner.feed(self._reasoning.feed(piece))

    def close(self) -> str:
        """Tell that the answer is complete and return the rest of the text, often empty."""
        return self._cleaner.feed(self._reasoning.close())
