"""ChatGPT's data export: an archive with `conversations.json`, or with `conversations-000.json` and so on since 2026.

A conversation is a tree (`mapping`): each answer that was generated again and each message that was edited is a branch.
What the person saw last is the path from `current_node` to the root.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from apps.gateway.imports.formats.files import Upload
from apps.gateway.imports.formats.json_stream import Node, read_document
from apps.gateway.imports.formats.values import (
    as_list,
    as_object,
    make_messages,
    name_source,
    read_text,
    read_time,
    read_title,
)
from apps.gateway.imports.types import Item, LeftOut, Omission, PastConversation, PastMessage

FILE = re.compile(r"conversations(-\d+)?\.json")

_ROLES = {"user": "user", "assistant": "assistant"}
_TEXTS = frozenset({"text", "multimodal_text"})
_THINKING = frozenset({"thoughts", "reasoning_recap"})
_CITATION = re.compile("\ue200[^\ue201]*\ue201|【[^【】]*†[^【】]*】")
"""Marks of sources, which mean nothing outside of the page."""


def read(upload: Upload) -> Iterator[Item]:
    """Yield the conversations of an export."""
    for member in upload.members:
        if member.name and not FILE.fullmatch(member.name):
            continue
        with upload.open_text(member) as text:
            yield from read_nodes(read_document(text))


def read_nodes(nodes: Iterator[Node]) -> Iterator[Item]:
    """Yield the conversations of one file: an array of them, or a single one."""
    single: dict[str, Any] = {}
    for node in nodes:
        if not node.path:
            yield read_conversation(node.value)
        elif node.is_element:
            single.setdefault(node.path[0], []).append(node.value)
        else:
            single[node.path[0]] = node.value
    if single:
        yield read_conversation(single)


def read_conversation(value: Any) -> Item:
    """Return a conversation, or why it is none."""
    conversation = as_object(value)
    title = read_title(conversation.get("title"))
    mapping = conversation.get("mapping")
    if not isinstance(mapping, dict):
        return Omission(LeftOut.MALFORMED, label=title, detail="This is not a conversation of ChatGPT.")
    path = _follow(mapping, conversation.get("current_node"))
    left_out: Counter[LeftOut] = Counter()
    messages: list[PastMessage] = []
    for node_id in path:
        messages += _read_message(node_id, as_object(as_object(mapping[node_id]).get("message")), left_out)
    others = [node for node_id, node in mapping.items() if node_id not in path]
    left_out[LeftOut.OTHER_BRANCH] += sum(map(_is_shown, others))
    if not messages:
        return Omission(LeftOut.EMPTY, label=title)
    known = conversation.get("conversation_id") or conversation.get("id")
    return PastConversation(
        source_id=str(known) if known else name_source(title, conversation.get("create_time"), messages[0].content),
        title=title,
        messages=tuple(messages),
        started_at=read_time(conversation.get("create_time")) or messages[0].said_at,
        left_out=+left_out,
    )


def _follow(mapping: Mapping[str, Any], leaf: Any) -> Mapping[str, None]:
    """The IDs from the root to the leaf; without a valid leaf to the newest message that nothing follows."""
    if leaf not in mapping:
        ends = [node_id for node_id, node in mapping.items() if not as_list(as_object(node).get("children"))]
        leaf = max(ends, key=lambda node_id: _time_of(mapping[node_id]), default=None)
    path: dict[str, None] = {}
    while isinstance(leaf, str) and leaf in mapping and leaf not in path:
        path[leaf] = None
        leaf = as_object(mapping[leaf]).get("parent")
    return dict(reversed(path.items()))


def _time_of(node: Any) -> float:
    time = as_object(as_object(node).get("message")).get("create_time")
    return float(time) if isinstance(time, int | float) else 0.0


def _is_shown(node: Any) -> bool:
    return any(_read_message("", as_object(as_object(node).get("message")), Counter()))


def _read_message(node_id: str, message: Mapping[str, Any], left_out: Counter[LeftOut]) -> Iterator[PastMessage]:
    """Yield what was said, or count why it is left out; nodes without a message are the tree's own."""
    if not message:
        return
    content = as_object(message.get("content"))
    text, attachments = _read_parts(content)
    left_out[LeftOut.ATTACHMENT] += attachments
    if (reason := _find_reason(message, content)) is not None:
        left_out[reason] += 1
    elif text:
        said_at = read_time(message.get("create_time"))
        role = _ROLES[as_object(message.get("author"))["role"]]
        yield from make_messages(source_id=str(message.get("id") or node_id), role=role, content=text, said_at=said_at)
    elif not attachments:
        left_out[LeftOut.EMPTY] += 1


def _find_reason(message: Mapping[str, Any], content: Mapping[str, Any]) -> LeftOut | None:
    role = as_object(message.get("author")).get("role")
    kind = content.get("content_type")
    metadata = as_object(message.get("metadata"))
    if role == "tool" or message.get("recipient") not in (None, "all"):
        return LeftOut.TOOL
    if kind in _THINKING or message.get("channel") == "analysis":
        return LeftOut.THINKING
    hidden = metadata.get("is_visually_hidden_from_conversation") or metadata.get("is_user_system_message")
    if role not in _ROLES or hidden:
        return LeftOut.HIDDEN
    if kind not in _TEXTS:
        return LeftOut.TOOL if kind in ("code", "execution_output") else LeftOut.HIDDEN
    return None


def _read_parts(content: Mapping[str, Any]) -> tuple[str, int]:
    """The text of a message, and how many parts of it are none."""
    texts, attachments = [], 0
    for part in as_list(content.get("parts")):
        if isinstance(part, dict) and part.get("content_type") != "audio_transcription" and "text" not in part:
            attachments += 1
        else:
            texts.append(read_text(part.get("text") if isinstance(part, dict) else part))
    text = "\n\n".join(filter(None, texts))
    return read_text(_CITATION.sub("", text)), attachments
