"""What a message needs of what was said before it, to be understood (K7): "再找找其他的", "what about the other one?".

A message of few keywords is searched for with the last lines of the conversation; one that speaks for itself is not, so
a new subject drops the old one. Both are measured in docs/retrieval.md. Pure, no Django.
"""

from __future__ import annotations

from collections.abc import Sequence

from apps.core.text.keywords import extract_keywords

ENOUGH_KEYWORDS = 3
"""A message with so many keywords says itself what it is about."""

SHARE_PER_KEYWORD = 0.8
"""With each keyword of its own, what was said before counts so much less."""

LINES = 4
"""How many of the messages before it are looked at: two rounds."""

LINE_CHARACTERS = 200
"""Of each; a long reply would drown the message before it."""


def find_earlier(message: str, said: Sequence[str]) -> str:
    """Return the lines before `message` that it is to be searched for with, oldest first; "" where it needs none.

    `said`: the messages before it, oldest first.
    """
    if _count_keywords(message) >= ENOUGH_KEYWORDS:
        return ""
    lines = [" ".join(text[: 2 * LINE_CHARACTERS].split())[:LINE_CHARACTERS] for text in said[-LINES:]]
    return "\n".join(line for line in lines if line)


def weigh_earlier(message: str) -> float:
    """How much what was said before counts, against the message itself: 0..1."""
    return float(SHARE_PER_KEYWORD ** _count_keywords(message))


def _count_keywords(message: str) -> int:
    return len(extract_keywords(message, limit=ENOUGH_KEYWORDS))
