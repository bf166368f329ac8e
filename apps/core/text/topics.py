"""What a conversation is about, in its own words, by how much they tell: no topic rather than a bad one. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from apps.core.text.fold import strip_accents
from apps.core.text.keywords import extract_keywords
from apps.core.text.segment import rarity, signs

LEAST_INFORMATION = 18.0
"""Nats that the words of a message carry in all before it has a topic of its own: "true", 的确 and "that helped" are
below, two words of some rarity above."""

NATS_A_LETTER = 1.3
"""Of a word in letters, for which there are no counts: the rarer, the longer (Zipf's law of abbreviation). English has
about this entropy a letter (Shannon 1951)."""

MAX_WORDS = 12
_MAX_GAP = 4
"""Characters between two words that are named together: "trip to Tokyo", 人工智能的未来."""


def find_topic(
    message: str, *, folded: str, earlier: Sequence[str] = (), is_vague: Callable[[str], object]
) -> str | None:
    """Return the words of a message that tell most, one or two that stand together; None where it tells too little.

    `folded`: the message character by character as keywords are written. What was said `earlier`, too, folded as well,
    tells more. `is_vague`: of a folded word that names nothing.
    """
    words = [word for word in _list_words(folded) if len(word) > 1 and not is_vague(word)]
    if sum(map(measure, words)) < LEAST_INFORMATION:
        return None
    plain = strip_accents(folded)  # as keywords are, and as long: an accent by itself is the exception
    spoken = plain if len(plain) == len(folded) else folded
    places = sorted((at, word) for word in words if (at := spoken.find(word)) >= 0)
    weights = {word: measure(word) * (1 + sum(word in text for text in earlier)) for word in words}
    best, phrase = 0.0, ""
    for number, (at, word) in enumerate(places):
        end = at + len(word)
        if weights[word] > best:
            best, phrase = weights[word], message[at:end]
        for start, other in places[number + 1 : number + 2]:
            between = folded[end:start]
            if len(between) <= _MAX_GAP and not _BREAK.search(between) and weights[word] + weights[other] > best:
                best, phrase = weights[word] + weights[other], message[at : start + len(other)]
    return phrase or None


def tells_enough(text: str) -> bool:
    """Return whether the words of a text carry enough for it to be a title."""
    return sum(map(measure, _list_words(text))) >= LEAST_INFORMATION


def _list_words(text: str) -> list[str]:
    return [word for word in extract_keywords(text, limit=MAX_WORDS) if word.isalnum() or not signs(word)]


def measure(word: str) -> float:
    """Return how much a folded word tells, in nats."""
    return NATS_A_LETTER * len(word) if word.isascii() else rarity(word)


_BREAK = re.compile(r"[^\w\s-]|\n")
