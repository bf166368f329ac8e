"""Plain values that go into and come out of long-term memory. No Django."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID


class Mode(StrEnum):
    """What a proposed value does to the value its key has (L3)."""

    REPLACE = "replace"
    ADD = "add"
    REMOVE = "remove"


class Action(StrEnum):
    """What became of an entry. IGNORED is never reported to a client."""

    CREATED = "created"
    SUPERSEDED = "superseded"
    REFRESHED = "refreshed"
    PENDING = "pending"
    IGNORED = "ignored"


@dataclass(frozen=True, slots=True)
class ProposedEntry:
    """One entry of a model's answer, as it came: nothing is checked yet (E5).

    A missing `source` means user_stated; a missing or unknown `mode` means replace.
    """

    category: object
    key: object
    value: object
    source: object = None
    confidence: object = None
    mode: object = None


@dataclass(frozen=True, slots=True)
class MemoryUpdate:
    """What an entry did (L2). `superseded` with the value `[]` and the old ID: its last item was taken away."""

    id: UUID
    action: Action
    category: str
    key: str
    value: Any


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What a deletion did: how many of the memories asked for are gone, and which IDs were not there."""

    deleted: int
    missing: tuple[UUID, ...] = ()
