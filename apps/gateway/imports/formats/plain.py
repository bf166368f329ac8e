"""A plain form for everything else, one JSON object in a line (or an array of them).

``{"role": "user", "content": "…", "create_time"?, "session"?, "title"?}`` is something said; ``{"memory": "…",
"create_time"?, "tags"?}`` a memory; ``{"key": "…", "value": …, "category"?}`` a long-term memory. A file that is one
object with `messages` is one conversation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import IO, Any

from apps.gateway.imports.formats.files import Upload
from apps.gateway.imports.formats.json_stream import read_lines_or_document
from apps.gateway.imports.formats.values import (
    as_list,
    as_object,
    make_messages,
    name_source,
    read_json,
    read_parts,
    read_tag,
    read_text,
    read_time,
    read_title,
)
from apps.gateway.imports.types import Item, LeftOut, Omission, PastConversation, PastMemory, PastMessage

MESSAGES_AT_ONCE = 1_000
CATEGORIES = frozenset({"preference", "fact", "pattern"})
TIMES = ("create_time", "created_at", "timestamp", "time")

_ROLES = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant"}


def read(upload: Upload) -> Iterator[Item]:
    """Yield what the lines hold; messages one after the other with the same `session` are one conversation."""
    for member in upload.members:
        with upload.open_text(member) as text:
            yield from read_objects(_read_values(text))


def read_objects(values: Iterator[tuple[str, Any]]) -> Iterator[Item]:
    """Yield what objects are, each with a name for its place in the file."""
    reader = _Reader()
    for label, value in values:
        yield from reader.take(label, value)
    yield from reader.flush()


def _read_values(text: IO[str]) -> Iterator[tuple[str, Any]]:
    """The objects of a file: of its lines, of its array, or of the `messages` of its one object."""
    single: dict[str, Any] = {}
    for number, node in enumerate(read_lines_or_document(text), 1):
        if node.is_element and (not node.path or node.path == ("messages",)):
            given = node.value if isinstance(node.value, dict) else {"": node.value}
            about = {name: single[name] for name in ("session", "title") if node.path and name in single}
            yield f"{number}", node.value if isinstance(node.value, ValueError) else about | given
        elif node.path and node.is_element:
            single.setdefault(node.path[0], []).append(node.value)
        elif node.path:
            single[node.path[0]] = node.value
    if {"role", "memory", "key"} & single.keys():
        yield "1", single


class _Reader:
    """Collects messages into conversations. A session that comes again later continues where it was."""

    def __init__(self) -> None:
        self._session: str | None = None
        self._unnamed = ""
        self._title = ""
        self._messages: list[PastMessage] = []
        self._left_out: Counter[LeftOut] = Counter()
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
        if self._messages:
            yield PastConversation(
                source_id=self._session or self._unnamed,
                title=self._title,
                messages=tuple(self._messages),
                started_at=self._messages[0].said_at,
                left_out=+self._left_out,
            )
        self._messages, self._left_out, self._title = [], Counter(), ""

    def _take_message(self, found: Mapping[str, Any]) -> Iterator[Item]:
        named = found.get("session")
        session = "" if named is None else str(named)
        if session != self._session or len(self._messages) >= MESSAGES_AT_ONCE:
            yield from self.flush()
        self._session = session
        self._title = self._title or read_title(found.get("title"))
        self._counts[session] += 1
        role = _ROLES.get(str(found["role"]).lower())
        content, others = read_parts(found["content"])
        self._left_out[LeftOut.ATTACHMENT] += others
        if role is None:
            self._left_out[LeftOut.TOOL if found["role"] in ("tool", "function") else LeftOut.HIDDEN] += 1
        elif not content:
            self._left_out[LeftOut.EMPTY] += not others
        else:
            said_at = _read_said_at(found)
            # Without a name of its own a conversation is known by how it begins: two files are two conversations.
            self._unnamed = self._unnamed or name_source(role, content, said_at and said_at.isoformat())
            name = name_source(session, self._counts[session], role, content)
            self._messages += make_messages(source_id=name, role=role, content=content, said_at=said_at)


def _read_memory(found: Mapping[str, Any]) -> Item:
    content = read_text(found["memory"])
    if not content:
        return Omission(LeftOut.EMPTY)
    return PastMemory(
        source_id=str(found.get("id") or name_source(content)),
        content=content,
        tags=tuple(filter(None, map(read_tag, as_list(found.get("tags"))))),
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


def _read_said_at(found: Mapping[str, Any]) -> Any:
    return next(filter(None, (read_time(found.get(name)) for name in TIMES)), None)
