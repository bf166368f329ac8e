"""Where the words of a search occur in a text, whatever their case, script and inflection. Pure: no Django."""

from __future__ import annotations

import re
from collections.abc import Sequence

from apps.core.text.bm25_terms import bm25_terms
from apps.core.text.fold import fold
from apps.core.text.segment import is_cjk

MAX_NEEDLES = 50


def list_needles(query: str) -> list[str]:
    """Return the folded words and stems of `query` that are worth marking, the longest first."""
    words = {*bm25_terms(query), *fold(query).split()}
    return sorted(words, key=lambda word: (-len(word), word))[:MAX_NEEDLES]


def split_found(text: str, needles: Sequence[str]) -> list[tuple[bool, str]]:
    """Cut `text` into pieces, and say of each whether it is a word that was looked for; joined they are `text`.

    A word that begins with a needle is marked to its end, as search finds inflections; Chinese stands anywhere.
    """
    if not needles or not text:
        return [(False, text)] if text else []
    folded, origins = _fold_in_place(text)
    pattern = "|".join(_make_pattern(needle) for needle in needles)
    pieces: list[tuple[bool, str]] = []
    end = 0
    for match in re.finditer(pattern, folded):
        start, stop = origins[match.start()], origins[match.end()]
        if start < end or start == stop:
            continue
        if start > end:
            pieces.append((False, text[end:start]))
        if pieces and pieces[-1][0]:
            start, stop = end - len(pieces.pop()[1]), stop
        pieces.append((True, text[start:stop]))
        end = stop
    if end < len(text):
        pieces.append((False, text[end:]))
    return pieces


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
