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
from apps.gateway.imports.formats.json_stream import read_document, read_objects
from apps.gateway.imports.formats.values import (
    as_list,
    as_object,
    make_messages,
    name_source,
    read_number,
    read_parts,
    read_text,
    read_time,
    read_title,
    split_statements,
    trace_branch,
)
from apps.gateway.imports.types import (
    Item,
    LeftOut,
    Omission,
    PastConversation,
    PastMemory,
    PastMessage,
    PastProfile,
)

FILE = re.compile(r"conversations(-\d+)?\.json")

_ROLES = {"user": "user", "assistant": "assistant"}
_TEXTS = frozenset({"text", "multimodal_text"})
_THINKING = frozenset({"thoughts", "reasoning_recap"})
_CITATION = re.compile("\ue200[^\ue201]*\ue201|【[^【】]*†[^【】]*】")
"""Marks of sources, which mean nothing outside of the page."""

_SAVED, _INSTRUCTIONS = "model_editable_context", "user_editable_context"
_NOT_REMEMBERED = ("is_do_not_remember", "is_temporary_chat", "is_temporary", "temporary")
_NUMBERED = re.compile(r"(?m)^[^\S\n]*\d+[.)][^\S\n]+")
_DATED = re.compile(r"(?m)^[^\S\n]*(?:\d+[.)][^\S\n]+)?\[(?P<day>\d{4}-\d\d-\d\d)\][.:]?[^\S\n]*")
_FENCED = re.compile(r"```(?P<text>.*)```", re.DOTALL)


def read(upload: Upload) -> Iterator[Item]:
    """Yield the conversations of an export, then what ChatGPT remembered and was told to keep in mind of the person."""
    kept = _Kept()
    for member in upload.members:
        if member.name and not FILE.fullmatch(member.name):
            continue
        with upload.open_text(member) as text:
            for value in read_objects(read_document(text)):
                kept.note(value)
                yield read_conversation(value)
    yield from kept.list_items()


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
    others = [mapping[node_id] for node_id in mapping.keys() - set(path)]
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
        learns=is_remembered(conversation),
    )


def is_remembered(conversation: Mapping[str, Any]) -> bool:
    """Whether ChatGPT may remember from a conversation: not a temporary one, nor where memory was off."""
    scope = str(conversation.get("memory_scope") or "").lower()
    return not (
        any(conversation.get(name) for name in _NOT_REMEMBERED) or "disabled" in scope or scope in ("none", "off")
    )


def _follow(mapping: Mapping[str, Any], leaf: Any) -> list[str]:
    """The IDs from the root to the leaf; without a valid leaf to the newest message that nothing follows."""
    # By time: the order of the nodes in the file means nothing.
    order = sorted(mapping, key=lambda node_id: _time_of(mapping[node_id]))
    if not isinstance(leaf, str) or leaf not in mapping:
        ends = [node_id for node_id in order if not as_list(as_object(mapping[node_id]).get("children"))]
        leaf = ends[-1] if ends else None
    # A node that does not even name a parent has lost its way, too.
    return trace_branch({node_id: as_object(mapping[node_id]).get("parent", "") for node_id in order}, leaf)


class _Kept:
    """What the newest conversation shows that ChatGPT remembers: each conversation holds what was there at its time."""

    def __init__(self) -> None:
        self._newest: dict[str, tuple[float, Mapping[str, Any]]] = {}

    def note(self, value: Any) -> None:
        """Note the hidden messages of a conversation in which that stands."""
        conversation = as_object(value)
        if not is_remembered(conversation):
            return
        since = read_number(conversation.get("create_time")) or read_number(conversation.get("update_time"))
        for node in as_object(conversation.get("mapping")).values():
            message = as_object(as_object(node).get("message"))
            kind = as_object(message.get("content")).get("content_type")
            time = read_number(message.get("create_time")) or since
            if kind in (_SAVED, _INSTRUCTIONS) and time >= self._newest.get(kind, (0.0,))[0]:
                self._newest[kind] = (time, message)

    def list_items(self) -> Iterator[Item]:
        """Yield the saved memories with their dates, and the custom instructions."""
        saved = as_object(self._newest.get(_SAVED, (0.0, {}))[1].get("content"))
        for day, statement in _split_saved(read_text(saved.get("model_set_context"))):
            yield PastMemory(source_id=name_source(statement), content=statement, said_at=read_time(day))
        message = self._newest.get(_INSTRUCTIONS, (0.0, {}))[1]
        content, told = as_object(message.get("content")), as_object(message.get("metadata"))
        told = as_object(told.get("user_context_message_data"))
        for section, field, otherwise in (
            ("background", "user_profile", "about_user_message"),
            ("reply_style", "user_instructions", "about_model_message"),
        ):
            if text := _unwrap(read_text(content.get(field))) or read_text(told.get(otherwise)):
                yield PastProfile(section=section, text=text)


def _split_saved(text: str) -> Iterator[tuple[str, str]]:
    """The memories in a numbered text, each with its day: "1. [2025-11-02]. Likes tea."; "" where it has none."""
    starts = list(_DATED.finditer(text)) or list(_NUMBERED.finditer(text))
    if not starts:
        yield from (("", statement) for statement, _heading in split_statements(text))
        return
    for start, end in zip(starts, [*(found.start() for found in starts[1:]), len(text)], strict=True):
        if statement := read_text(text[start.end() : end]):
            yield start.groupdict().get("day", ""), statement


def _unwrap(text: str) -> str:
    """What a person wrote: ChatGPT puts it between marks, after words of its own."""
    found = _FENCED.search(text)
    return read_text(found["text"]) if found else text


def _time_of(node: Any) -> float:
    return read_number(as_object(as_object(node).get("message")).get("create_time"))


def _is_shown(node: Any) -> bool:
    return any(_read_message("", as_object(as_object(node).get("message")), Counter()))


def _read_message(node_id: str, message: Mapping[str, Any], left_out: Counter[LeftOut]) -> Iterator[PastMessage]:
    """Yield what was said, or count why it is left out; nodes without a message are the tree's own."""
    if not message:
        return
    content = as_object(message.get("content"))
    text, attachments = _read_content(content)
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


def _read_content(content: Mapping[str, Any]) -> tuple[str, int]:
    """The text of a message, and how many parts of it are none."""
    text, attachments = read_parts(as_list(content.get("parts")))
    return read_text(_CITATION.sub("", text)), attachments
