"""Read the JSON object that a model answered with, however badly it is written (E5).

A model may think before its answer, fence it, cut it, misquote it, repeat keys, or write 1 MB of brackets.
`read_json_object` never raises, takes bounded time, and says whether the object had to be repaired: only JSON that
needed no repair may become memory.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, SupportsIndex

from json_repair import repair_json

from apps.core.llm.reasoning import remove_reasoning_before_object
from apps.core.text.clean import clean_json

MAX_REPAIRED_CHARS = 64_000
"""Broken answers longer than this are not repaired. A reply has at most 32,000 characters."""

_READS_PER_CHAR = 20
"""What repairing may cost: ordinary damage takes 1 to 8 reads a character, hostile input is quadratic."""

_FENCE = re.compile(r"`{3,}\w*")
_BLANK = " \t\r\n\ufeff"


@dataclass(frozen=True, slots=True)
class ReadResult:
    """`value`: the object, or None if there is none. `repaired`: it was not valid JSON.

    Strings in `value`, keys included, hold no U+0000 and no lone surrogate; numbers are finite.
    """

    value: dict[str, Any] | None
    repaired: bool


def read_json_object(text: str) -> ReadResult:
    """Return the JSON object that `text` consists of.

    Reasoning before it (`remove_reasoning_before_object`), a byte order mark, white space around it and a Markdown
    fence are removed; that is no repair. Valid JSON is taken as it is (of a repeated key the last counts). Anything
    else goes through json-repair: cut ends, single quotes, text around the object; so do NaN and numbers beyond a
    float's range, which come out as text or None. Arrays, scalars, texts without an object, and objects nested deeper
    than `apps.core.text.clean.MAX_DEPTH` give None.
    """
    body = _remove_fence(remove_reasoning_before_object(clean_answer(text)))
    if "{" not in body:
        return ReadResult(value=None, repaired=False)
    repaired = False
    try:
        value = json.loads(body, parse_float=_parse_finite, parse_constant=_parse_finite)
    except (ValueError, RecursionError):
        repaired = True
        value = _repair(body)
    try:
        value = clean_json(value)
    except ValueError:
        value = None
    return ReadResult(value=value, repaired=repaired) if isinstance(value, dict) else ReadResult(None, repaired=False)


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
