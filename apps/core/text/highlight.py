"""Where the words of a search occur in a text, whatever their case, script and inflection. Pure: no Django."""

from __future__ import annotations

import re
from collections.abc import Sequence
from unicodedata import is_normalized

from apps.core.text.fold import fold_for_search, fold_form, simplify, strip_accents
from apps.core.text.text_cache import cache_texts

BEFORE_MATCH = 40
"""Characters of an excerpt before the first match: enough to read on from, and the match is on the first line."""

_SPACE = re.compile(r"\s")

_LETTER = r"[^\W\d_\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
_DIGIT = r"\d"

_MARKS = (
    "\u0300-\u036f\u1160-\u11ff\u20d0-\u20ff\u3099\u309a\ufe00-\ufe0f\uff9e\uff9f"
    "\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"
)
_JOINED = re.compile(rf"[{_MARKS}\u200d\U0001f1e6-\U0001f1ff]")
_CLUSTER = re.compile(rf"(?s:[\U0001f1e6-\U0001f1ff]{{2}}|.)(?:[{_MARKS}]|\u200d.)*")
"""What is read as one sign: a character with its marks, emoji that are joined to each other, a flag."""


def find_ranges(text: str, needles: Sequence[str]) -> list[tuple[int, int]]:
    """Return where folded `needles` occur in `text`: pairs of start and end, in order, apart from each other.

    A word that begins with a needle is marked to its end, as search finds inflections; Chinese stands anywhere. Of
    needles that begin at one place the first one given counts: put longer ones first.
    """
    if not needles or not text:
        return []
    folded, starts, stops = _fold_in_place(text)
    pattern = "|".join(_make_pattern(strip_accents(needle)) for needle in needles if needle)
    ranges: list[tuple[int, int]] = []
    for match in re.finditer(pattern, folded):
        start, stop = starts[match.start()], stops[match.end() - 1]
        end = ranges[-1][1] if ranges else 0
        if stop <= end:
            continue
        if ranges and start <= end:
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
    """Match a needle where a word of its alphabet begins, to the end of that word; Chinese and signs anywhere.

    Letters begin after digits, digits after letters (ASR1605), and either after Chinese (客厅NAS).
    """
    before = _DIGIT if needle[0].isdigit() else _LETTER if re.match(_LETTER, needle) else ""
    escaped = f"(?<!{before}){re.escape(needle)}" if before else re.escape(needle)
    return f"{escaped}{_LETTER}*" if before or re.match(_LETTER, needle[-1]) else escaped


def _fold_in_place(text: str) -> tuple[str, list[int], list[int]]:
    """The text folded as for a search, and of each character of that the range in `text` that it comes from.

    What is read as one sign is folded as one and comes from all of it: a letter with its accents, a family of emoji.
    """
    whole = fold_for_search(text)
    if len(whole) == len(text) and is_normalized("NFKC", text) and not _JOINED.search(text):
        return whole, list(range(len(text))), list(range(1, len(text) + 1))
    clusters = [(found.span(), _fold_cluster(found.group())) for found in _CLUSTER.finditer(text)]
    origins = [span for span, part in clusters for _ in part]
    folded = "".join(part for _span, part in clusters)
    # Some characters are simplified otherwise in a word than alone: 乾 in 乾隆.
    simplified = simplify(folded)
    starts, stops = [start for start, _stop in origins], [stop for _start, stop in origins]
    return (simplified if len(simplified) == len(folded) else folded), starts, stops


@cache_texts(4_000)
def _fold_cluster(cluster: str) -> str:
    return strip_accents(fold_form(cluster))
