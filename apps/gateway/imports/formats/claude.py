"""Claude's data export: `conversations.json` with `chat_messages`, and `memories.json` where it remembers something.

Exports come as one archive or as several (`conversations-000.zip`, `memories-000.zip`), or as the single files.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apps.gateway.imports.formats.files import Upload
from apps.gateway.imports.formats.json_stream import read_document, read_objects
from apps.gateway.imports.formats.values import (
    as_list,
    as_object,
    make_messages,
    name_source,
    read_tag,
    read_text,
    read_time,
    read_title,
    split_statements,
    trace_branch,
)
from apps.gateway.imports.types import Item, LeftOut, Omission, PastConversation, PastFile, PastMemory, PastMessage

ROOT = "00000000-0000-4000-8000-000000000000"
CONVERSATIONS = re.compile(r"conversations(-\d+)?\.json")
OTHER = re.compile(r"(projects|design_chats).*\.json")

_ROLES = {"human": "user", "user": "user", "assistant": "assistant"}
_TOOLS = frozenset({"tool_use", "tool_result"})


def read(upload: Upload) -> Iterator[Item]:
    """Yield the conversations and the memories of an export."""
    for member in upload.members:
        if OTHER.fullmatch(member.name):
            yield Omission(LeftOut.UNSUPPORTED, label=member.name)
        elif not re.fullmatch(r"users.*\.json", member.name):
            with upload.open_text(member) as text:
                for value in read_objects(read_document(text)):
                    yield from _read_object(value)


def _read_object(value: Any) -> Iterator[Item]:
    found = as_object(value)
    if "conversations_memory" in found or "project_memories" in found:
        yield from read_memories(found)
    elif "chat_messages" in found:
        yield read_conversation(found)
    elif "docs" in found or "prompt_template" in found:
        yield Omission(LeftOut.UNSUPPORTED, label=read_title(found.get("name")))
    else:
        label = read_title(found.get("name"))
        yield Omission(LeftOut.MALFORMED, label=label, detail="This is not a conversation of Claude.")


def read_memories(found: Mapping[str, Any]) -> Iterator[Item]:
    """Yield the statements of what Claude remembers: one text about the person, one for each project."""
    said_at = read_time(found.get("updated_at") or found.get("created_at"))
    texts = [found.get("conversations_memory"), *as_object(found.get("project_memories")).values()]
    for text in texts:
        for statement, heading in split_statements(read_text(text)):
            yield PastMemory(
                source_id=name_source(statement),
                content=statement,
                tags=tuple(filter(None, [read_tag(heading)])),
                said_at=said_at,
            )


def read_conversation(found: Mapping[str, Any]) -> Item:
    """Return a conversation as the person saw it last, or why it is none."""
    title = read_title(found.get("name"))
    everything = [as_object(message) for message in as_list(found.get("chat_messages"))]
    path = _follow(everything)
    left_out: Counter[LeftOut] = Counter({LeftOut.OTHER_BRANCH: len(everything) - len(path)})
    messages: list[PastMessage] = []
    for number, message in enumerate(path):
        messages += _read_message(number, message, left_out)
    if not messages:
        return Omission(LeftOut.EMPTY, label=title)
    known = found.get("uuid")
    return PastConversation(
        source_id=str(known) if known else name_source(title, found.get("created_at"), messages[0].content),
        title=title,
        messages=tuple(messages),
        started_at=read_time(found.get("created_at")) or messages[0].said_at,
        left_out=+left_out,
    )


def _follow(messages: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """The messages that lead to the last one; all of them where they do not say what they answer."""
    by_id = {str(message.get("uuid") or f"#{number}"): message for number, message in enumerate(messages)}
    parents = {name: message.get("parent_message_uuid") or "" for name, message in by_id.items()}
    if not any(isinstance(parent, str) and parent in by_id for parent in parents.values()):
        return messages
    roots = {name: None if parent == ROOT else parent for name, parent in parents.items()}
    return [by_id[name] for name in trace_branch(roots, next(reversed(by_id)))]


def _read_message(number: int, message: Mapping[str, Any], left_out: Counter[LeftOut]) -> Iterator[PastMessage]:
    sent = [as_object(file) for file in (*as_list(message.get("attachments")), *as_list(message.get("files")))]
    files = tuple(_read_files(sent))
    attachments = sum(not read_text(file.get("extracted_content")) for file in sent)
    left_out[LeftOut.ATTACHMENT] += attachments
    texts = []
    for block in map(as_object, as_list(message.get("content"))):
        kind = block.get("type")
        if kind == "text":
            texts.append(read_text(block.get("text")))
        elif kind in _TOOLS:
            left_out[LeftOut.TOOL] += 1
        elif kind == "thinking":
            left_out[LeftOut.THINKING] += 1
    text = "\n\n".join(filter(None, texts)) or ("" if texts else read_text(message.get("text")))
    role = _ROLES.get(str(message.get("sender")))
    if role is None:
        left_out[LeftOut.HIDDEN] += 1
    elif text or files:
        source_id = str(message.get("uuid") or name_source(number, role, text))
        said_at = read_time(message.get("created_at"))
        yield from make_messages(source_id=source_id, role=role, content=text, said_at=said_at, files=files)
    elif not attachments:
        left_out[LeftOut.EMPTY] += 1


def _read_files(sent: Sequence[Mapping[str, Any]]) -> Iterator[PastFile]:
    """The texts that were pasted or taken from files: the model read them, but they are not what the person says."""
    for file in sent:
        if text := read_text(file.get("extracted_content")):
            yield PastFile(name=read_title(file.get("file_name")) or "paste.txt", text=text)
