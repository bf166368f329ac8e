"""The editor of something that waits: its fields as one types them, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from apps.core.errors import InvalidInput
from apps.panel.review.queue import Kind
from apps.panel.value_text import NotJson, read_tags, read_value, write_tags, write_value


def write_fields(kind: Kind, row: Any) -> dict[str, str]:
    """The fields of a row as text to be changed."""
    match kind:
        case Kind.LONG_TERM:
            return {
                "category": row.category,
                "key": row.key,
                "value": write_value(row.value),
                "confidence": repr(row.confidence),
            }
        case Kind.ATOMIC:
            return {"content": row.content, "tags": write_tags(row.tags)}
        case Kind.PROFILE:
            return {"text": row.text}


def read_fields(kind: Kind, typed: Mapping[str, str]) -> dict[str, Any]:
    """The values that were typed; raises `InvalidInput` for what is no value, and the services for what they refuse."""
    match kind:
        case Kind.LONG_TERM:
            return {
                "category": typed.get("category", ""),
                "key": typed.get("key", ""),
                "value": _read_json(typed.get("value", "")),
                "confidence": _read_number(typed.get("confidence", "")),
            }
        case Kind.ATOMIC:
            return {"content": typed.get("content", ""), "tags": read_tags(typed.get("tags", ""))}
        case Kind.PROFILE:
            return {"text": typed.get("text", "")}


def _read_json(text: str) -> Any:
    try:
        return read_value(text)
    except NotJson as error:
        place = {"line": error.line, "column": error.column}
        reason = _("Invalid JSON at line %(line)s, column %(column)s.") % place
        raise InvalidInput(f"value: {reason}", fields={"value": [reason]}) from error


def _read_number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        reason = _("Must be a number from 0 to 1.")
        raise InvalidInput(f"confidence: {reason}", fields={"confidence": [reason]}) from error
