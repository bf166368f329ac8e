"""The parts of a score in words: for the playground, for a turn and for the turns that used a memory (K5, K9)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from apps.chat.context.types import LONG_TERM


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

ATOMIC_COMPONENTS = (
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
"""Of an atomic memory. BM25 has no upper bound; a bar is full at what few memories reach."""

TITLES = {component.name: component.title for component in COMPONENTS}


def list_kept(used: Mapping[str, Any]) -> Iterator[tuple[Component, float]]:
    """Yield the parts of a score that a turn kept, with their values; `used`: one of its `memories_used`."""
    for component in COMPONENTS if used.get("kind") == LONG_TERM else ATOMIC_COMPONENTS:
        value = used.get(component.field)
        if isinstance(value, int | float):
            yield component, float(value)
