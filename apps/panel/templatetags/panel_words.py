"""Filters for the words and colours of what the database keeps by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django import template

from apps.panel.labels import label_emotion, tone_of_emotion

register = template.Library()


@register.filter
def has_name(row: object) -> bool:
    """Whether a row's title says more than its ID, or the ID of what it is about."""
    return re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-", str(row)) is None


@register.filter
def emotion_word(name: str) -> str:
    """The words for an emotion."""
    return label_emotion(name)


@register.filter
def emotion_tone(emotion: Mapping[str, Any]) -> str:
    """The chip's colour for an emotion, by its category."""
    return tone_of_emotion(emotion)
