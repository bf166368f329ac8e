"""IDs of responses and their items (T3). Pure.

A response has a UUID, which is that of the reply it stored: ``resp_<hex>``. Its message is ``msg_<hex>``, its calls of
functions are ``fc_<hex>_<number>``.
"""

from __future__ import annotations

import re
import uuid

_RESPONSE = re.compile(r"resp_([0-9a-f]{32})")
_ITEM = re.compile(r"(?:msg_([0-9a-f]{32})|fc_([0-9a-f]{32})_([0-9]{1,4}))")


def name_response(key: uuid.UUID) -> str:
    """Return the response's ID."""
    return f"resp_{key.hex}"


def name_message(key: uuid.UUID) -> str:
    """Return the ID of the response's message."""
    return f"msg_{key.hex}"


def name_call(key: uuid.UUID, number: int) -> str:
    """Return the ID of one of the response's calls, counted from 0."""
    return f"fc_{key.hex}_{number}"


def read_response_name(name: str) -> uuid.UUID | None:
    """Return the UUID in a response's ID, None if it is none of ours."""
    found = _RESPONSE.fullmatch(name)
    return uuid.UUID(found[1]) if found else None


def read_item_name(name: str) -> tuple[uuid.UUID, int | None] | None:
    """Return the response's UUID and the number of the call, None for its message; None if the ID is none of ours."""
    found = _ITEM.fullmatch(name)
    if not found:
        return None
    return (uuid.UUID(found[1]), None) if found[1] else (uuid.UUID(found[2]), int(found[3]))
