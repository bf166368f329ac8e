"""Filters for the words and colours of what the database keeps by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template

from apps.panel.labels import label_emotion, tone_of_emotion
from apps.panel.row_names import has_name, name_row

register = template.Library()


register.filter("has_name", has_name)
register.filter("row_name", name_row)


@register.filter
def emotion_word(name: str) -> str:
    """The words for an emotion."""
    return label_emotion(name)


@register.filter
def emotion_tone(emotion: Mapping[str, Any]) -> str:
    """The chip's colour for an emotion, by its category."""
    return tone_of_emotion(emotion)
