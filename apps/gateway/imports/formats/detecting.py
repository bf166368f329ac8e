"""Which format a file has, by what it holds: names of files say nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from apps.gateway.imports.formats import chatgpt, claude, deepseek, jiyi, letta, mem0, plain, zep
from apps.gateway.imports.formats.files import Upload
from apps.gateway.imports.formats.json_stream import read_document
from apps.gateway.imports.formats.values import as_object
from apps.gateway.imports.types import Format, Item, UnknownFormat, UnreadableFile

Reader = Callable[[Upload], Iterator[Item]]

READERS: dict[Format, Reader] = {
    Format.CHATGPT: chatgpt.read,
    Format.CLAUDE: claude.read,
    Format.DEEPSEEK: deepseek.read,
    Format.MEM0: mem0.read,
    Format.LETTA: letta.read,
    Format.ZEP: zep.read,
    Format.PLAIN: plain.read,
    Format.JIYI: jiyi.read,
}

_LOOKED_AT = 1_000
"""Values of a document that are looked at; what tells the formats apart comes early."""

# What people bring that cannot be read: by names that stand together in an object, and what to do instead.
_NOT_READ: tuple[tuple[frozenset[str], str], ...] = (
    (
        frozenset({"export_id", "data_files"}),
        "This is only the list of the files of a Claude export. Download the archives that it names, and import those.",
    ),
    (
        frozenset({"header", "title", "time", "products"}),
        "This is the activity of Gemini from Google Takeout, which cannot be read yet. Write it as JSON lines instead.",
    ),
    (
        frozenset({"user_id", "title", "chat"}),
        "This is an export of chats from Open WebUI, which cannot be read yet. Write it as JSON lines instead.",
    ),
    (
        frozenset({"user_name", "character_name"}),
        "This is a chat of SillyTavern, which cannot be read yet. Write it as JSON lines instead.",
    ),
    (
        frozenset({"is_user", "mes"}),
        "This is a chat of SillyTavern, which cannot be read yet. Write it as JSON lines instead.",
    ),
)

_IN_LINES = frozenset({Format.PLAIN, Format.MEM0})


def detect_format(upload: Upload) -> Format:
    """Return the format. Raises `UnknownFormat`, or `UnreadableFile` where not even that can be told."""
    reason: UnreadableFile | None = None
    found: list[Format] = []
    for member in upload.members:
        try:
            with upload.open_text(member) as text:
                known = _detect_in_document(text)
        except UnreadableFile as error:
            reason, known = reason if isinstance(reason, UnknownFormat) else error, None
        if known is not None:
            found.append(known)
            if known is not Format.PLAIN:
                return known
    if found:
        return found[0]
    if reason is not None:
        raise reason
    raise UnknownFormat("This file is none of the formats that can be imported.")


def read_items(upload: Upload, found: Format) -> Iterator[Item]:
    """Yield what a file of this format holds. Raises `UnreadableFile` where it breaks off, after what came before."""
    return READERS[found](upload)


def _detect_in_document(text: Any) -> Format | None:
    seen: dict[str, Any] = {}
    try:
        for number, node in enumerate(read_document(text)):
            name = node.path[0] if node.path else ""
            if name == jiyi.DATA and len(node.path) == 2:
                return Format.JIYI
            known = _detect_value(node.value, under=name, seen=seen) if node.is_element else None
            seen[name] = node.value
            known = known or _detect_names(seen)
            if known is not None or number >= _LOOKED_AT:
                return known
    except UnreadableFile:
        # The first line of a file of lines is a document of its own.
        _refuse_unread(seen)
        known = _detect_line(seen)
        if known in _IN_LINES:
            return known
        raise
    _refuse_unread(seen)
    return _detect_line(seen)


def _refuse_unread(found: Mapping[str, Any]) -> None:
    """Raise `UnknownFormat` for what is recognised and cannot be read; the text says what to do."""
    for names, advice in _NOT_READ:
        if names <= found.keys():
            raise UnknownFormat(advice)


def _detect_names(seen: dict[str, Any]) -> Format | None:
    """By the names at the top of a document."""
    if {"about", "exported_at", "user"} <= seen.keys():
        return Format.JIYI
    if "mapping" in seen:
        return _tell_trees_apart(seen)
    if {"chat_messages", "conversations_memory"} & seen.keys():
        return Format.CLAUDE
    if "agents" in seen or ("core_memory" in seen and {"agent_type", "system", "messages"} & seen.keys()):
        return Format.LETTA
    return None


def _tell_trees_apart(found: Mapping[str, Any]) -> Format:
    return Format.DEEPSEEK if deepseek.is_conversation(found) else Format.CHATGPT


def _detect_line(seen: dict[str, Any]) -> Format | None:
    """By the names of an object that is a line, or a whole file, of a plain form."""
    if "memory" in seen and {"hash", "user_id", "agent_id", "metadata"} & seen.keys():
        return Format.MEM0
    if "memory" in seen or {"role", "content"} <= seen.keys() or {"key", "value"} <= seen.keys():
        return Format.PLAIN
    if {"label", "value"} <= seen.keys():
        return Format.LETTA
    return None


def _detect_value(value: Any, *, under: str, seen: dict[str, Any]) -> Format | None:
    """By an element of an array: at the top, or under a name."""
    found = as_object(value)
    names = found.keys()
    if not under:
        _refuse_unread(found)
    if under in zep.FACTS:
        return Format.ZEP
    if under in letta.PASSAGES:
        return Format.LETTA
    if under in zep.NODES and {"uuid", "name"} <= names:
        return None
    if "mapping" in names:
        return _tell_trees_apart(found)
    if {"chat_messages", "conversations_memory", "project_memories"} & names:
        return Format.CLAUDE
    if "fact" in names or (under in zep.SESSIONS and "messages" in names):
        return Format.ZEP
    if {"session_id", "thread_id"} & names and "messages" in names:
        return Format.ZEP
    if "label" in names and "value" in names:
        return Format.LETTA
    if "role_type" in names or (under == "messages" and {"session_id", "thread_id"} & seen.keys()):
        return Format.ZEP
    if "text" in names and {"agent_id", "archive_id", "embedding_config", "organization_id"} & names:
        return Format.LETTA
    if under in mem0.LISTS and set(mem0.TEXT_FIELDS) & names:
        return Format.MEM0
    if not under or under == "messages":
        return _detect_line(dict(found))
    return None
