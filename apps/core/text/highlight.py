"""Where the words of a search occur in a text, whatever their case, script and inflection. Pure: no Django."""

from __future__ import annotations

import re
from collections.abc import Sequence

from apps.core.text.fold import fold
from apps.core.text.segment import is_cjk

BEFORE_MATCH = 40
"""Characters of an excerpt before the first match: enough to read on from, and the match is on the first line."""

_SPACE = re.compile(r"\s")


def find_ranges(text: str, needles: Sequence[str]) -> list[tuple[int, int]]:
    """Return where folded `needles` occur in `text`: pairs of start and end, in order, apart from each other.

    A word that begins with a needle is marked to its end, as search finds inflections; Chinese stands anywhere. Of
    needles that begin at one place the first one given counts: put longer ones first.
    """
    if not needles or not text:
        return []
    folded, origins = _fold_in_place(text)
    pattern = "|".join(map(_make_pattern, needles))
    ranges: list[tuple[int, int]] = []
    for match in re.finditer(pattern, folded):
        start, stop = origins[match.start()], origins[match.end()]
        end = ranges[-1][1] if ranges else 0
        if start < end or start == stop:
            continue
        if ranges and start == end:
            start = ranges.pop()[0]
        ranges.append((start, stop))
    return ranges


def cut_excerpt(text: str, needles: Sequence[str], *, length: int) -> tuple[str, list[tuple[int, int]]]:
    """Return about `length` characters of `text` on one line, from shortly before the first match, and its ranges.

    "…" stands where something is cut off. Without a match it is the beginning.
    """
    found = find_ranges(text, needles)
    start = max(0, found[0][0] - BEFORE_MATCH) if found else len(text) - len(text.lstrip())
    if start and start + length > len(text):
        start = max(0, len(text) - length)
    stop = min(len(text), start + length)
    before, after = "…" if text[:start].strip() else "", "…" if text[stop:].strip() else ""
    shift = len(before) - start
    ranges = [(left + shift, min(right, stop) + shift) for left, right in found if start <= left < stop]
    return before + _SPACE.sub(" ", text[start:stop]) + after, ranges


def _make_pattern(needle: str) -> str:
    escaped = re.escape(needle)
    return escaped if any(map(is_cjk, needle)) else rf"(?<![^\W_]){escaped}[^\W\d_\u3040-\u30ff\u3400-\u9fff]*"


def _fold_in_place(text: str) -> tuple[str, list[int]]:
    """The folded text, and for each place in it, and its end, the place in `text` that it comes from."""
    folded = fold(text)
    if len(folded) == len(text):
        return folded, list(range(len(text) + 1))
    parts = [fold(character) for character in text]
    origins = [place for place, part in enumerate(parts) for _ in part]
    return "".join(parts), [*origins, len(text)]
