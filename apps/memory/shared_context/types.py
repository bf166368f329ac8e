"""Plain values of shared contexts. No Django."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

MAX_TITLE_CHARACTERS = 200
MAX_AUTHOR_CHARACTERS = 100
MAX_CONTEXT_BYTES = 64 * 1024
"""Of the content and all entries together, as UTF-8 (X3)."""


@dataclass(frozen=True, slots=True)
class ContextEntrySnapshot:
    """One addition (X3)."""

    author: str
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ContextSnapshot:
    """A shared context as one turn sees it (X1): the background of a case, and what was added to it, in order."""

    id: UUID
    title: str
    content: str
    entries: Sequence[ContextEntrySnapshot]
