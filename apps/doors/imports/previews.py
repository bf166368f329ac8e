"""Preview what a file holds before anything of it is imported. Reads the file only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import IO, Any

from apps.doors.imports.formats.base import (
    ExportedRow,
    Item,
    LeftOut,
    Omission,
    PastConversation,
    PastMemory,
    PastProfile,
    Remark,
)
from apps.doors.imports.formats.registry import detect_format, get_format
from apps.doors.imports.formats.uploads import UnreadableFile, Upload
from apps.doors.imports.formats.values import read_time

NOTHING_FOUND = "There is nothing in this file that can be imported."

SAMPLES = 5
EXAMPLES = 20
SAMPLE_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class ConversationSample:
    """A conversation, and the first thing that the person said in it."""

    title: str
    said: str
    messages: int
    started_at: datetime | None


@dataclass
class Preview:
    """Count what a file holds, and keep some samples.

    `ended`: memories that would be kept as history. `unlearned`: conversations that would be kept for reading only.
    `proposals`: for the profile. `rows`: of an export of our own, by table. `first` and `last`: when the first and the
    last of it was said. `problem`: why the file cannot be read to its end, or is not all there is.
    """

    format: str
    conversations: int = 0
    messages: int = 0
    memories: int = 0
    ended: int = 0
    unlearned: int = 0
    proposals: int = 0
    rows: Counter[str] = field(default_factory=Counter)
    left_out: Counter[LeftOut] = field(default_factory=Counter)
    first: datetime | None = None
    last: datetime | None = None
    problem: str = ""
    conversation_samples: list[ConversationSample] = field(default_factory=list)
    memory_samples: list[str] = field(default_factory=list)
    examples: list[Omission] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set, repr=False)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing in the file that can be imported."""
        return not (self.conversations or self.memories or self.proposals or self.rows)

    @property
    def is_unreadable(self) -> bool:
        """Whether nothing in the file is what files of its format hold; what is left out for a reason has been read."""
        return self.is_empty and (self.left_out[LeftOut.MALFORMED] > 0 or not +self.left_out)

    def add(self, item: Item) -> None:
        """Count an item."""
        match item:
            case PastConversation():
                new = item.source_id not in self._seen
                self._seen.add(item.source_id)
                self.unlearned += new and not item.learns
                self.messages += len(item.messages)
                self.left_out.update(item.left_out)
                for message in item.messages:
                    self._note_time(message.said_at)
                if new:
                    said = next((message.content for message in item.messages if message.role == "user"), "")
                    self._add_conversation(item.title, said, len(item.messages), item.started_at)
            case PastMemory():
                self._note_time(item.said_at)
                self._add_memory(item.content or f"{item.key}: {item.value}", ended=item.ended)
            case PastProfile():
                self.proposals += 1
            case Remark():
                self.problem = item.text
            case Omission():
                self.left_out[item.reason] += item.count
                if len(self.examples) < EXAMPLES:
                    self.examples.append(item)
            case ExportedRow() if item.table:
                self._add_row(item.table, item.row)

    def describe(self) -> dict[str, Any]:
        """Return the amounts that a preview and the report of an import have in common."""
        return {
            "found": {"conversations": self.conversations, "messages": self.messages, "memories": self.memories},
            "left_out": {str(reason): count for reason, count in sorted(self.left_out.items()) if count},
            "unlearned": self.unlearned,
            "proposals": self.proposals,
            "first": self.first,
            "last": self.last,
        }

    def _add_row(self, table: str, row: Mapping[str, object]) -> None:
        self.rows[table] += 1
        match table:
            case "chat_session":
                self._add_conversation(str(row.get("title") or ""), "", 0, read_time(row.get("created_at")))
            case "conversation":
                self.messages += 1
                self._note_time(read_time(row.get("create_time")))
            case "atomic_memory" | "long_term_memory":
                text = row.get("content") or f"{row.get('key')}: {row.get('value')}"
                self._add_memory(str(text), ended=row.get("status") != "active")

    def _add_conversation(self, title: str, said: str, messages: int, started_at: datetime | None) -> None:
        self.conversations += 1
        if len(self.conversation_samples) < SAMPLES:
            sample = ConversationSample(title, said[:SAMPLE_CHARACTERS], messages, started_at)
            self.conversation_samples.append(sample)

    def _add_memory(self, text: str, *, ended: bool) -> None:
        self.memories += 1
        self.ended += ended
        if len(self.memory_samples) < SAMPLES:
            self.memory_samples.append(text[:SAMPLE_CHARACTERS])

    def _note_time(self, time: datetime | None) -> None:
        if time is not None:
            self.first = min(self.first or time, time)
            self.last = max(self.last or time, time)


def preview_file(file: IO[bytes], *, named: str | None = None) -> Preview:
    """Return what a file holds; of the format `named`, or the one that it is found to have.

    Raises `UnknownFormat`, or `UnreadableFile` where nothing of it can be read.
    """
    upload = Upload(file)
    found = get_format(named) if named else detect_format(upload)
    preview = Preview(format=found.name)
    try:
        for item in found.read(upload):
            preview.add(item)
    except UnreadableFile as error:
        if preview.is_empty:
            raise
        preview.problem = str(error)
    if preview.is_unreadable:
        raise UnreadableFile(NOTHING_FOUND)
    return preview
