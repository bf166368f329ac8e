"""What a service says of a change it made, and what an object was at a time, from such records (L7). No Django."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
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


CREATE = "create"


@dataclass(frozen=True, slots=True)
class Record:
    """A change of an object. `before` is None for what was new; `before` and `after`, once its text was deleted."""

    object_id: UUID
    action: str
    before: Snapshot | None
    after: Snapshot | None
    created_at: datetime


class Past(StrEnum):
    """What there is to say of an object at a time, where no record says what it was."""

    SAME = "same"
    """It has not changed since."""
    ABSENT = "absent"
    """It was not known yet."""
    UNKNOWN = "unknown"
    """It may have been something else, of which nothing is kept: a text that it held was deleted since."""


def find_state(records: Iterable[Record], *, at: datetime, made_at: datetime) -> Snapshot | Past:
    """Return what an object that is there now was at a time.

    `records`: of its changes, in order; those until `at` are not needed. `made_at`: when it was stored, which decides
    only for what has not changed since `at`: what was imported may say that it is older than that.
    """
    first = next((record for record in records if record.created_at > at), None)
    if first is None:
        return Past.SAME if made_at <= at else Past.ABSENT
    if first.before is not None:
        return first.before
    # Even without its texts the record of a creation tells that there was nothing before it.
    return Past.ABSENT if first.action == CREATE or first.after is not None else Past.UNKNOWN
