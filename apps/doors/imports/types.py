"""The contents of files from elsewhere as plain values: conversations, memories, and what was left out. No Django."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class LeftOut(StrEnum):
    """Why something in a file is not imported."""

    HIDDEN = "hidden"
    """A message that the source does not show: instructions of the system, custom instructions."""

    TOOL = "tool"
    """A call of a tool, or its result."""

    THINKING = "thinking"
    """The model's reasoning."""

    ATTACHMENT = "attachment"
    """An image, a recording or a file: only texts are imported."""

    OTHER_BRANCH = "other_branch"
    """A message that was edited or answered again: the source shows another version."""

    EMPTY = "empty"
    """It has no text."""

    DELETED = "deleted"
    """The source marks it as deleted."""

    ASSISTANT = "assistant"
    """It says how the assistant is or works, and nothing of the person."""

    OTHER_PERSON = "other_person"
    """It belongs to another person than what comes first in the file, or to nobody that the file names."""

    RELATION = "relation"
    """A part of a graph without a statement of its own, such as a node."""

    UNSUPPORTED = "unsupported"
    """A part of the file that is neither a conversation nor a memory, such as projects or tools."""

    MALFORMED = "malformed"
    """It is not what files of this format hold there."""


@dataclass(frozen=True, slots=True)
class PastFile:
    """The text of a file that was sent with a message, or of what was pasted into it."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class PastMessage:
    """Something said. `source_id` is the same whenever the message is read again."""

    source_id: str
    role: str
    content: str
    said_at: datetime | None = None
    files: tuple[PastFile, ...] = ()


@dataclass(frozen=True, slots=True)
class PastConversation:
    """A conversation, or the next part of one: with the same `source_id` the messages come after those before.

    `left_out`: how many of its messages (or parts of these) are not here, by reason. `learns`: the source remembers
    from it; one that it does not remember from is kept for reading only.
    """

    source_id: str
    title: str
    messages: tuple[PastMessage, ...]
    started_at: datetime | None = None
    left_out: Mapping[LeftOut, int] = field(default_factory=dict)
    learns: bool = True


@dataclass(frozen=True, slots=True)
class PastMemory:
    """A memory: a statement (`content`), or a `key` with a `value` where the source has these.

    `said_at`: when the source learned it. `started_at`, `ended_at`: from when and until when it was true. `ended`: the
    source does not count on it any more. `muted`: it keeps it without using it.
    """

    source_id: str
    content: str = ""
    key: str = ""
    value: Any = None
    category: str = "fact"
    tags: tuple[str, ...] = ()
    said_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    ended: bool = False
    muted: bool = False


@dataclass(frozen=True, slots=True)
class PastProfile:
    """What a person wrote about themselves at the source, for a section of the profile."""

    section: str
    text: str


@dataclass(frozen=True, slots=True)
class Omission:
    """Something that is not imported, `count` times. `label`: a name for it, such as a title; `detail`: a sentence."""

    reason: LeftOut
    label: str = ""
    detail: str = ""
    count: int = 1


@dataclass(frozen=True, slots=True)
class Remark:
    """A sentence for the person about the file as a whole, such as that there is more elsewhere."""

    text: str


@dataclass(frozen=True, slots=True)
class ExportedRow:
    """A row of an export of our own, of the table of that name; or what the file says about itself (`table` "")."""

    table: str
    row: Mapping[str, Any]


Item = PastConversation | PastMemory | PastProfile | Omission | Remark | ExportedRow


class UnreadableFile(Exception):
    """The file cannot be read at all, or no further; the text is a sentence for the person."""


class UnknownFormat(UnreadableFile):
    """The file is not in a format that can be imported."""
