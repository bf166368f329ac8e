"""A text too long for an embedder, cut into parts that it reads (V3). Pure, no Django."""

from __future__ import annotations

import re

_ENDS = (
    re.compile(r"\n\s*\n"),  # a paragraph
    re.compile(r"\n|[。！？；…]+[”』」）]*|(?<![.!?;])[.!?;]++[\"')\]]*+(?=\s)"),  # a sentence
    re.compile(r"[，、：]|[,:](?=\s)|\s+"),  # a clause, a word
)
"""Where a part may end, the better places first."""


def split_text(text: str, *, max_characters: int) -> list[str]:
    """Return `text` cut into parts of at most `max_characters`, nothing lost: joined, they are the text again.

    A part ends where a paragraph, a sentence, a clause or a word ends, as good a place as its second half has, and
    else in the middle of a word. A text of nothing but white space has no part.
    """
    if not text.strip():
        return []
    parts, at = [], 0
    while len(text) - at > max_characters:
        end = _find_end(text, at=at, limit=at + max_characters)
        parts.append(text[at:end])
        at = end
    return [*parts, text[at:]]


def _find_end(text: str, *, at: int, limit: int) -> int:
    middle = at + (limit - at + 1) // 2
    for pattern in _ENDS:
        ends = [found.end() for found in pattern.finditer(text, middle, limit) if found.end() > at]
        if ends:
            return ends[-1]
    return limit
