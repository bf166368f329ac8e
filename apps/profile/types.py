"""Plain values of the profile document. No Django."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

TEXT_SECTIONS = ("reply_style", "language_habits", "background")
"""The sections that every document has, under fields of their own; all others are in `sections` (U1)."""

MAX_SECTION_CHARACTERS = 2_000
MAX_SECTIONS = 50
"""Sections besides `TEXT_SECTIONS`."""

MAX_NAME_CHARACTERS = 100
MAX_PENDING_PROPOSALS = 50


@dataclass(frozen=True, slots=True)
class ProfileSnapshot:
    """The document as one turn sees it (U1, U2). A section without text is an empty string, or not in `sections`."""

    reply_style: str
    language_habits: str
    background: str
    sections: Mapping[str, str]
    version: int
    updated_at: datetime

    @property
    def texts(self) -> dict[str, str]:
        """The sections that say something, by name, those that every document has first."""
        sections = {name: getattr(self, name) for name in TEXT_SECTIONS} | dict(self.sections)
        return {name: text for name, text in sections.items() if text}

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing."""
        return not (self.reply_style or self.language_habits or self.background or self.sections)


@dataclass(frozen=True, slots=True)
class ProposedSection:
    """The whole new text of a section of the profile, with what a message shows about the person (U3).

    `section` is one of `TEXT_SECTIONS` or one that the person has made. `said_at` is when the message was said: what is
    older than a deletion or an edit by hand does not come back, and what is older than the section's text does not
    replace it.
    """

    section: str
    text: str
    message_id: UUID | None
    said_at: datetime
