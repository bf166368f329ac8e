"""Formats of our own: JSON lines, for everything else, and the export of everything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import IO, Any

from apps.doors.imports.formats.base import Clue, ExportedRow, Format, Item, LeftOut, Omission, PastMemory
from apps.doors.imports.formats.base import gettext_noop as _
from apps.doors.imports.formats.uploads import NESTED, Upload, collect, read_nodes
from apps.doors.imports.formats.values import (
    Draft,
    as_list,
    as_object,
    name_source,
    read_json,
    read_parts,
    read_tags,
    read_text,
    read_time,
    read_title,
)


class Jiyi(Format):
    """The export of everything (`GET /memory/export`, `manage.py export_user`): rows by table."""

    name = "jiyi"
    label = "Jiyi 记忆"
    description = _("Export of everything from Jiyi")
    restores = True

    def score(self, clue: Clue) -> float:
        is_row = len(clue.path) == 2
        return 1.0 if is_row or {"about", "exported_at", "user"} <= clue.top.keys() else 0.0

    def read(self, upload: Upload) -> Iterator[Item]:
        """Yield what the file says about itself (`table` ""), then its rows, table by table, in the file's order."""
        for member in upload.members:
            with upload.open_text(member) as text:
                for node in read_nodes(text):
                    if len(node.path) == 2 and node.path[0] == NESTED:
                        if node.is_element and isinstance(node.value, dict):
                            yield ExportedRow(node.path[1], node.value)
                        else:
                            detail = "This is not a row of a table."
                            yield Omission(LeftOut.MALFORMED, label=node.path[1], detail=detail)
                    elif len(node.path) == 1 and not node.is_element:
                        yield ExportedRow("", {node.path[0]: node.value})


class Plain(Format):
    """One JSON object in a line, or an array of them.

    ``{"role": "user", "content": "…", "create_time"?, "session"?, "title"?}`` is something said; ``{"memory": "…",
    "create_time"?, "tags"?}`` a memory; ``{"key": "…", "value": …, "category"?}`` a long-term memory. A file that is
    one object with `messages` is one conversation.
    """

    name = "plain"
    label = _("JSON lines")
    description = _("JSON lines with messages or memories")

    def score(self, clue: Clue) -> float:
        if clue.path not in ((), ("messages",)):
            return 0.0
        return 0.5 if clue.has("memory") or clue.has("role", "content") or clue.has("key", "value") else 0.0

    def read(self, upload: Upload) -> Iterator[Item]:
        """Yield what the lines hold; messages one after the other with the same `session` are one conversation."""
        for member in upload.members:
            with upload.open_text(member) as text:
                reader = _Reader()
                for label, value in _read_values(text):
                    yield from reader.take(label, value)
                yield from reader.flush()


MESSAGES_AT_ONCE = 1_000
CATEGORIES = frozenset({"preference", "fact", "pattern"})
TIMES = ("create_time", "created_at", "timestamp", "time")


def _read_values(text: IO[str]) -> Iterator[tuple[str, Any]]:
    """Yield the objects of a file: of its lines, of its array, or of the `messages` of its one object."""
    single: dict[str, Any] = {}
    for number, node in enumerate(read_nodes(text), 1):
        if node.is_element and (not node.path or node.path == ("messages",)):
            given = node.value if isinstance(node.value, dict) else {"": node.value}
            about = {name: single[name] for name in ("session", "title") if node.path and name in single}
            yield f"{number}", node.value if isinstance(node.value, ValueError) else about | given
        elif node.path:
            collect(single, node)
    if {"role", "memory", "key"} & single.keys():
        yield "1", single


class _Reader:
    """Collect messages into conversations. A session that comes again later continues where it was."""

    def __init__(self) -> None:
        self._session: str | None = None
        self._unnamed = ""
        self._title = ""
        self._draft = Draft()
        self._counts: Counter[str] = Counter()

    def take(self, label: str, value: Any) -> Iterator[Item]:
        found = as_object(value)
        if "role" in found and "content" in found:
            yield from self._take_message(found)
        elif "memory" in found:
            yield _read_memory(found)
        elif "key" in found and "value" in found:
            yield _read_entry(found)
        else:
            detail = str(value) if isinstance(value, ValueError) else "This is neither a message nor a memory."
            yield Omission(LeftOut.MALFORMED, label=label, detail=detail)

    def flush(self) -> Iterator[Item]:
        """Yield what has been said in the session so far."""
        if self._draft.messages:
            yield self._draft.finish(title=self._title, source_id=self._session or self._unnamed)
        self._draft, self._title = Draft(), ""

    def _take_message(self, found: Mapping[str, Any]) -> Iterator[Item]:
        named = found.get("session")
        session = "" if named is None else str(named)
        if session != self._session or len(self._draft.messages) >= MESSAGES_AT_ONCE:
            yield from self.flush()
        self._session = session
        self._title = self._title or read_title(found.get("title"))
        self._counts[session] += 1
        content, others = read_parts(found["content"])
        name = name_source(session, self._counts[session], found["role"], content)
        self._draft.say(found["role"], content, source_id=name, said_at=_read_said_at(found), attachments=others)
        for first in self._draft.messages[:1]:
            # Without a name of its own a conversation is known by how it begins: two files are two conversations.
            self._unnamed = self._unnamed or name_source(first.role, first.content, str(first.said_at))


def _read_memory(found: Mapping[str, Any]) -> Item:
    content = read_text(found["memory"])
    if not content:
        return Omission(LeftOut.EMPTY)
    return PastMemory(
        source_id=str(found.get("id") or name_source(content)),
        content=content,
        tags=read_tags(as_list(found.get("tags"))),
        said_at=_read_said_at(found),
    )


def _read_entry(found: Mapping[str, Any]) -> Item:
    key, value = read_title(found["key"]), read_json(found["value"])
    if not key or value is None or value == "":
        return Omission(LeftOut.EMPTY, label=key)
    category = found.get("category")
    return PastMemory(
        source_id=str(found.get("id") or name_source(key, value)),
        key=key,
        value=value,
        category=category if category in CATEGORIES else "fact",
        said_at=_read_said_at(found),
    )


def _read_said_at(found: Mapping[str, Any]) -> datetime | None:
    return next(filter(None, (read_time(found.get(name)) for name in TIMES)), None)
