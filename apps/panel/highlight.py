"""The words of a search in a text, cut out to be marked."""

from __future__ import annotations

from collections.abc import Sequence

from apps.core.text.bm25_terms import bm25_terms
from apps.core.text.fold import fold
from apps.core.text.highlight import find_ranges

MAX_NEEDLES = 50


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
