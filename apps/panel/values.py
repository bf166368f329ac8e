"""Remembered values as people read and type them. Pure: no Django."""

from __future__ import annotations

import json
from typing import Any


def show_value(value: Any) -> str:
    """A JSON value as text to read: texts as they are, null as nothing, the rest as JSON, indented where it is deep."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    flat = json.dumps(value, ensure_ascii=False)
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    deep = len(flat) > 60 or any(isinstance(item, dict | list) for item in items)
    return json.dumps(value, ensure_ascii=False, indent=2) if items and deep else flat
