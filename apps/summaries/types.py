"""Plain values of summaries, as other apps see them."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime

MAX_TITLE_CHARACTERS = 200
MAX_SNIPPET_CHARACTERS = 2000
"""Limits for texts that a user writes; generated texts are shorter."""


@dataclass(frozen=True, slots=True)
class SessionSummarySnapshot:
    """What a session was about (S1); `last_active_at` is the session's."""

    id: uuid.UUID
    session_id: uuid.UUID
    title: str
    snippet: str
    created_at: datetime
    last_active_at: datetime


@dataclass(frozen=True, slots=True)
class SessionNote:
    """The title and the snippet of a session's summary."""

    title: str
    snippet: str


@dataclass(frozen=True, slots=True)
class SessionDraft:
    """A session summary to be stored. It takes in what was said after position `since`, up to `covered_until`."""

    note: SessionNote
    since: int
    covered_until: int


@dataclass(frozen=True, slots=True)
class ConversationDraft:
    """A conversation summary to be stored: the messages it `covers` and the summary it `replaces` (S4).

    `unfinished`: there is more to be summarised at once.
    """

    content: str
    covers: tuple[uuid.UUID, ...]
    replaces: uuid.UUID | None
    unfinished: bool


@dataclass(frozen=True, slots=True)
class PreparedSummaries:
    """What a model has written for a session and is not stored yet; None was not due."""

    session_id: uuid.UUID
    session: SessionDraft | None = None
    conversation: ConversationDraft | None = None
