"""The parts of a score in words: for the playground, for a turn and for the turns that used a memory (K5, K9)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from apps.chat.context.types import LONG_TERM, MESSAGE


@dataclass(frozen=True, slots=True)
class Component:
    """A part of a score. `field`: its name in what a turn keeps; `full`: the highest it is by the default settings."""

    name: str
    field: str
    title: str | Promise
    about: str | Promise
    full: float = 1.0


COMPONENTS = (
    Component(
        "keyword",
        "keyword_score",
        _("Keyword match"),
        _("How many of the message's keywords it contains. Rare words count more than common ones."),
    ),
    Component(
        "semantic",
        "semantic_score",
        _("Meaning match"),
        _("How similar it is in meaning, even without shared words. The better of the two matches counts."),
    ),
    Component(
        "category",
        "category_boost",
        _("Category boost"),
        _("Preferences weigh 1.5, facts 1.2, habits 1."),
        full=1.5,
    ),
    Component(
        "recency",
        "recency_score",
        _("Recency"),
        _("1 for a memory that was just used; halved for every half-life without use."),
    ),
    Component(
        "frequency",
        "frequency_score",
        _("Frequency"),
        _("How often it was used, compared with the most used candidate."),
    ),
    Component(
        "confidence",
        "confidence",
        _("Confidence"),
        _("How certain it is. Statements count more than inferences."),
    ),
    Component(
        "topic",
        "topic_boost",
        _("Topic boost"),
        _("The weighted sum of the above is multiplied by this: 1.3 if it fits the current topic, otherwise 1."),
        full=1.3,
    ),
)
"""Of a long-term memory, in the order of the chat page (static/chat/recalled.js)."""

FULL_PART = 5.0
"""Points that few parts of an atomic memory's score reach: a bar is full there."""

ATOMIC_PARTS = tuple(
    Component(name, name, title, about, full=FULL_PART)
    for name, title, about in (
        (
            "meaning",
            _("Meaning"),
            _("How close it is to the message in meaning, compared with other memories."),
        ),
        (
            "meaning_of_last_line",
            _("Last line"),
            _("How close it is in meaning to the last line of the message, compared with other memories."),
        ),
        (
            "words",
            _("Words"),
            _("How well its words match the message, compared with other memories. Rare words count more."),
        ),
        (
            "words_in_session",
            _("Session words"),
            _("How well the best-matching memories of its session match the words of the message."),
        ),
        (
            "words_near",
            _("Nearby words"),
            _("How many words of the message occur in it or in the two memories before and after it."),
        ),
        (
            "words_around",
            _("Context words"),
            _("How many words of the message occur in it or in the four memories before and after it."),
        ),
        (
            "words_with_turn_before",
            _("Memory before"),
            _("How many words of the message occur in it or in the memory before it."),
        ),
        (
            "length",
            _("Length"),
            _("Longer memories contain more information and get points; shorter ones lose some."),
        ),
        (
            "question",
            _("Question"),
            _("It asks something. Questions rarely contain an answer, so they lose points."),
        ),
        (
            "answer",
            _("Answer"),
            _("It follows a question that contains words of the message."),
        ),
        (
            "speaker",
            _("Speaker"),
            _("The message names the person who said it."),
        ),
        (
            "time",
            _("Time"),
            _("It is from a time that the message mentions."),
        ),
        (
            "earlier_meaning",
            _("Earlier meaning"),
            _("The message is short, so the messages before it count too: how close it is to them in meaning."),
        ),
        (
            "earlier_words",
            _("Earlier words"),
            _("The message is short, so the messages before it count too: how well its words match theirs."),
        ),
        (
            "said_before",
            _("Said before"),
            _("The messages before it contain part of it already, so it loses points."),
        ),
    )
)
"""Of an atomic memory: the parts that add up to its score, in the order of the chat page."""

ATOMIC_SCORES = (
    Component(
        "keyword",
        "keyword_score",
        _("Words (BM25)"),
        _("How well its words match the message. Rare words count more, and long texts slightly less."),
        full=10.0,
    ),
    Component(
        "semantic",
        "semantic_score",
        _("Meaning (cosine)"),
        _("How similar it is in meaning, from 0 to 1."),
    ),
)
"""Of an atomic memory, besides its parts. BM25 has no upper bound; a bar is full at what few memories reach."""

TITLES = {component.name: component.title for component in COMPONENTS}


def list_kept(used: Mapping[str, Any]) -> Iterator[tuple[Component, float]]:
    """Yield the parts of a score that a turn kept, with their values; `used`: one of its `memories_used`.

    Of a past message, its words and meaning alone. Of an atomic memory: its parts that are not 0, of which older turns
    have none, then its BM25 and cosine.
    """
    if used.get("kind") in (LONG_TERM, MESSAGE):
        yield from _list_numbers(COMPONENTS, used)
        return
    parts = _list_numbers(ATOMIC_PARTS, used.get("parts") or {})
    yield from ((component, points) for component, points in parts if points)
    yield from _list_numbers(ATOMIC_SCORES, used)


def _list_numbers(components: Iterable[Component], values: Mapping[str, Any]) -> Iterator[tuple[Component, float]]:
    for component in components:
        value = values.get(component.field)
        if isinstance(value, int | float):
            yield component, float(value)
