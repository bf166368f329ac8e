"""Claude's data export: `conversations.json` with `chat_messages`, and `memories.json` where it remembers something.

Exports come as one archive or as several (`conversations-000.zip`, `memories-000.zip`), or as the single files.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apps.gateway.imports.formats.files import Upload
from apps.gateway.imports.formats.json_stream import Node, read_document
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
)
from apps.gateway.imports.types import Item, LeftOut, Omission, PastConversation, PastMemory, PastMessage

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
                yield from _read_file(read_document(text))


def _read_file(nodes: Iterator[Node]) -> Iterator[Item]:
    single: dict[str, Any] = {}
    for node in nodes:
        if not node.path:
            yield from _read_object(node.value)
        elif node.is_element:
            single.setdefault(node.path[0], []).append(node.value)
        else:
            single[node.path[0]] = node.value
    if single:
        yield from _read_object(single)


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
    by_id = {message.get("uuid"): message for message in messages}
    if not any(message.get("parent_message_uuid") in by_id for message in messages):
        return messages
    path: dict[Any, Mapping[str, Any]] = {}
    step = messages[-1].get("uuid")
    while step in by_id and step not in path:
        path[step] = by_id[step]
        step = by_id[step].get("parent_message_uuid")
    return list(reversed(path.values()))


def _read_message(number: int, message: Mapping[str, Any], left_out: Counter[LeftOut]) -> Iterator[PastMessage]:
    attachments = len(as_list(message.get("attachments"))) + len(as_list(message.get("files")))
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
    elif text:
        source_id = str(message.get("uuid") or name_source(number, role, text))
        said_at = read_time(message.get("created_at"))
        yield from make_messages(source_id=source_id, role=role, content=text, said_at=said_at)
    elif not attachments:
        left_out[LeftOut.EMPTY] += 1
