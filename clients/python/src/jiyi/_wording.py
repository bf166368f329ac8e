"""The value of a memory as people read it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def to_readable(value: Any) -> str:
    """Return a value as text: lists with commas, objects as `name: value`, not as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(map(to_readable, value))
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {to_readable(item)}" for name, item in value.items())
    return json.dumps(value, ensure_ascii=False)
