"""Plain values of a conversation, as other apps see them."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime

MAX_CONTENT_CHARS = 32_000
MAX_TITLE_CHARS = 200
MAX_MODEL_CHARS = 200
# The files of one session.
MAX_ATTACHMENTS = 20
MAX_ATTACHMENT_BYTES = 10 * 1024**2
# The text of one file.
MAX_ATTACHMENT_CHARS = 500_000
# The title that an untitled session takes from its first message.
MAX_AUTO_TITLE_CHARS = 60

# Where remembering is resumed, as models and clients are told; by what paused it, a value of `Pause` (D5).
RESUMED = {
    "everywhere": "on the chat page or in the settings of the memory panel",
    "space": "on the chat page or at the space in the memory panel",
    "session": "on the chat page, in the menu of the conversation",
    "request": "in the program that sent this message",
}


@dataclass(frozen=True, slots=True)
class SessionSpace:
    """The space of a session, as a turn needs it. `learns`: what is learned stays there, and is not everywhere (P3)."""

    id: uuid.UUID
    name: str
    instructions: str
    learns: bool


@dataclass(frozen=True, slots=True)
class OpenRound:
    """A user's message that waits for its reply.

    `position` is the message's; the reply's place right after it is reserved. `attempt` is the fencing token of
    this run: only the run that holds the newest one may store a reply. `data_epoch` is its owner's: a reply to
    something erased meanwhile is not stored (R3). `alternates`: a reply that came meanwhile gives way to this run's.
    `model`: the chat model that the session is set to. `learned`: the message was left to be learned from before.
    `space`: the one that the session is in, None for none (P1). `paused_by`: what paused remembering when the
    message was said, "" for nothing (D5).
    """

    message_id: uuid.UUID
    session_id: uuid.UUID
    user_id: int
    position: int
    attempt: int
    content: str
    create_time: datetime
    is_collected: bool
    temporary: bool
    data_epoch: int
    model: str = ""
    alternates: bool = False
    learned: bool = False
    space: SessionSpace | None = None
    paused_by: str = ""


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A message that a search found."""

    id: uuid.UUID
    session_id: uuid.UUID
    role: str
    content: str
    create_time: datetime


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file that was sent with a message: `text` is its beginning, `length` the characters of the whole."""

    id: uuid.UUID
    name: str
    text: str
    length: int


@dataclass(frozen=True, slots=True)
class RecordedMessage:
    """A message that was said elsewhere (C9, T3); `role` user or assistant, `create_time` None when it is not known.

    `id`: the one that it is to have, None for a new one. `files`: names and texts of what was sent with it.
    """

    role: str
    content: str
    create_time: datetime | None = None
    id: uuid.UUID | None = None
    files: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ImportedConversation:
    """What importing a conversation did: whether its session is new, and how many messages were stored."""

    created: bool
    stored: int


@dataclass(frozen=True, slots=True)
class Line:
    """One message of the rolling window."""

    id: uuid.UUID
    role: str
    content: str


# Messages that enter and leave the rolling window together: a user's message and its reply, or a reply alone.
Round = tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """What was said before a message: whole rounds, oldest first, and the summary of what came before them (S5)."""

    rounds: tuple[Round, ...] = ()
    summary: Line | None = None


@dataclass(frozen=True, slots=True)
class SaidRound:
    """A message of the person and its reply, "" without one."""

    said: str
    reply: str
    create_time: datetime
