"""Remembered values as people read them. Pure: no Django."""

from __future__ import annotations

from typing import Any

from apps.core.text.json_text import readable_text

LONG = 60
"""Characters from which a list or an object is shown with a line for each item."""


def show_value(value: Any) -> str:
    """A JSON value as text to read; a long list or object has a line for each item."""
    text = readable_text(value)
    if len(text) <= LONG:
        return text
    match value:
        case dict():
            return "\n".join(readable_text({key: item}) for key, item in value.items())
        case list():
            return "\n".join(map(readable_text, value))
    return text
