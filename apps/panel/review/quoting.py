"""The sentence of a message that a memory rests on, with the words they share marked. Pure: no Django."""

from __future__ import annotations

from dataclasses import dataclass

from apps.core.text.keywords import extract_keywords
from apps.core.text.matching import stem
from apps.core.text.sentences import cut_at_sentence, split_sentences
from apps.panel.highlight import split_found

MAX_CHARACTERS = 400
"""Of the sentence that is shown: a message may be one sentence of 32,000 characters."""

_MAX_WORDS = 30


@dataclass(frozen=True, slots=True)
class Quote:
    """A part of a message, in pieces: whether each is a word of the memory, and its text.

    `before`, `after`: whether the message says more on that side.
    """

    pieces: list[tuple[bool, str]]
    before: bool
    after: bool


def quote_sentence(message: str, *, memory: str) -> Quote:
    """Return the sentence of `message` that shares most with `memory`, the first one where none shares anything."""
    words = extract_keywords(memory, limit=_MAX_WORDS)
    words = sorted({*words, *map(stem, words)}, key=lambda word: (-len(word), word))
    sentences = split_sentences(message) or [message]
    marked = [split_found(sentence, words) for sentence in sentences]
    shared = [sum(len(piece) for found, piece in pieces if found) for pieces in marked]
    best = shared.index(max(shared))
    chosen = sentences[best].strip()
    shown = cut_at_sentence(chosen, MAX_CHARACTERS)
    return Quote(
        pieces=split_found(shown, words),
        before=best > 0,
        after=best < len(sentences) - 1,
    )
