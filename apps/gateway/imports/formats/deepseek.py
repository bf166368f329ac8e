"""DeepSeek's data export: `conversations.json` with trees as ChatGPT's has, and messages of fragments.

The file does not say which branch the person saw last: it is taken to be the one that goes on longest in time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from apps.gateway.imports.formats.files import Upload
from apps.gateway.imports.formats.json_stream import read_document, read_objects
from apps.gateway.imports.formats.values import (
    as_list,
    as_object,
    make_messages,
    name_source,
    read_text,
    read_time,
    read_title,
    trace_branch,
)
from apps.gateway.imports.types import Item, LeftOut, Omission, PastConversation, PastMessage

_SAID = {"REQUEST": "user", "RESPONSE": "assistant"}
_THINKING = "THINK"
_BEGINNING = datetime.min.replace(tzinfo=UTC)


def read(upload: Upload) -> Iterator[Item]:
    """Yield the conversations of an export."""
    for member in upload.members:
        if not member.name.startswith("user"):
            with upload.open_text(member) as text:
                yield from map(read_conversation, read_objects(read_document(text)))


def is_conversation(value: Mapping[str, Any]) -> bool:
    """Whether an object with a tree is one of DeepSeek's."""
    messages = (as_object(as_object(node).get("message")) for node in as_object(value.get("mapping")).values())
    return any("fragments" in message or "reasoning_content" in message for message in messages)


def read_conversation(value: Any) -> Item:
    """Return a conversation, or why it is none."""
    conversation = as_object(value)
    title = read_title(conversation.get("title"))
    mapping = conversation.get("mapping")
    if not isinstance(mapping, dict):
        return Omission(LeftOut.MALFORMED, label=title, detail="This is not a conversation of DeepSeek.")
    nodes = {name: as_object(node) for name, node in mapping.items()}
    order = sorted(nodes, key=lambda name: _get_time(nodes[name]) or _BEGINNING)
    answered = {str(node.get("parent")) for node in nodes.values()}
    leaf = next((name for name in reversed(order) if name not in answered), None)
    path = trace_branch({name: nodes[name].get("parent", "") for name in order}, leaf)
    left_out: Counter[LeftOut] = Counter()
    messages: list[PastMessage] = []
    for name in path:
        asked = not messages or messages[-1].role == "assistant"
        messages += _read_message(name, nodes[name], left_out, otherwise="user" if asked else "assistant")
    left_out[LeftOut.OTHER_BRANCH] += sum(bool(nodes[name].get("message")) for name in nodes.keys() - set(path))
    if not messages:
        return Omission(LeftOut.EMPTY, label=title)
    started = conversation.get("inserted_at")
    return PastConversation(
        source_id=str(conversation.get("id") or name_source(title, started, messages[0].content)),
        title=title,
        messages=tuple(messages),
        started_at=read_time(started) or messages[0].said_at,
        left_out=+left_out,
    )


def _get_time(node: Mapping[str, Any]) -> datetime | None:
    return read_time(as_object(node.get("message")).get("inserted_at"))


def _read_message(
    name: str, node: Mapping[str, Any], left_out: Counter[LeftOut], *, otherwise: str
) -> Iterator[PastMessage]:
    """Yield what was said; `otherwise`: by whom, where the message has no fragments, as in exports of early 2025."""
    message = as_object(node.get("message"))
    if not message:
        return
    role, texts = otherwise, [read_text(message.get("content"))]
    for fragment in map(as_object, as_list(message.get("fragments"))):
        kind = str(fragment.get("type")).upper()
        if kind in _SAID:
            role = _SAID[kind]
            texts.append(read_text(fragment.get("content")))
        else:
            left_out[LeftOut.THINKING if kind == _THINKING else LeftOut.TOOL] += 1
    left_out[LeftOut.THINKING] += bool(message.get("reasoning_content"))
    files = len(as_list(message.get("files")))
    left_out[LeftOut.ATTACHMENT] += files
    text = "\n\n".join(filter(None, texts))
    left_out[LeftOut.EMPTY] += not (text or files)
    said_at = read_time(message.get("inserted_at"))
    # Each conversation numbers its messages anew, so that the ID alone says it.
    yield from make_messages(source_id=str(node.get("id") or name), role=role, content=text, said_at=said_at)
