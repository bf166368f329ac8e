"""What a service says of a change it made (L7). No Django."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

Snapshot = Mapping[str, Any]
"""What a person could care for of an object, as JSON: no vectors, no counters, nothing derived."""


@dataclass(frozen=True, slots=True)
class ChangeDraft:
    """One change of one object: `before` is None for a new one.

    Drafts of one call with the same `group` are one operation: undone together or not at all. `session_id`: the session
    that the object goes with when it is deleted, None for what outlives its session. `operation`: the ID of an
    operation that several calls are part of, in place of `group`. `message_id`: what was said that caused the change.
    """

    kind: str
    action: str
    object_id: UUID
    before: Snapshot | None
    after: Snapshot
    group: str = ""
    session_id: UUID | None = None
    operation: UUID | None = None
    message_id: UUID | None = None
