"""What a format of files is, and the plain values that it reads: conversations, memories, and what is left out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from apps.doors.imports.formats.uploads import Upload


class LeftOut(StrEnum):
    """Why something in a file is not imported."""

    HIDDEN = "hidden"  # a message that the source does not show: instructions of the system, custom instructions
    TOOL = "tool"  # a call of a tool, or its result
    THINKING = "thinking"  # the model's reasoning
    ATTACHMENT = "attachment"  # an image, a recording or a file: only texts are imported
    OTHER_BRANCH = "other_branch"  # edited or answered again: the source shows another version
    EMPTY = "empty"
    DELETED = "deleted"  # the source marks it as deleted
    ASSISTANT = "assistant"  # it says how the assistant is or works, and nothing of the person
    OTHER_PERSON = "other_person"  # of another person than what comes first in the file, or of nobody that it names
    RELATION = "relation"  # a part of a graph without a statement of its own, such as a node
    UNSUPPORTED = "unsupported"  # neither a conversation nor a memory, such as projects or tools
    MALFORMED = "malformed"  # not what files of this format hold there


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


def gettext_noop(text: str) -> str:
    """Mark a text for translation where it is shown. Django's own would make the formats depend on Django."""
    return text


@dataclass(frozen=True, slots=True)
class Clue:
    """A place in a file by which its format is recognized.

    `path`: the names that lead to it. `found`: the object that stands there as an element of an array, or, with an
    empty path, the whole document; empty for anything else. `top`: the values at the top of the document so far.
    """

    path: tuple[str, ...]
    found: Mapping[str, Any]
    top: Mapping[str, Any]

    @property
    def under(self) -> str:
        """The name of the array at the top that it is in; "" for the array that the document is, and for the whole."""
        return self.path[0] if self.path else ""

    def has(self, *names: str) -> bool:
        """Whether the object has all of these names."""
        return self.found.keys() >= set(names)

    def has_any(self, *names: str) -> bool:
        """Whether the object has one of these names."""
        return not self.found.keys().isdisjoint(names)


class Format(ABC):
    """A kind of file that can be imported.

    `name`: in REST, on the command line and in the database. `label`: the service. `description`: what file it is.
    `restores`: whether it is restored as a whole, rather than imported item by item, and so cannot be undone.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    description: ClassVar[str]
    restores: ClassVar[bool] = False

    @abstractmethod
    def score(self, clue: Clue) -> float:
        """Return how sure it is, from 0 to 1, that a file is of this format; up to 0.5 where others may look so."""

    @abstractmethod
    def read(self, upload: Upload) -> Iterator[Item]:
        """Yield what a file holds. Raises `UnreadableFile` where it breaks off, after what came before."""
