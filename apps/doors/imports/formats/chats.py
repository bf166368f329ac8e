"""Exports of chat services: ChatGPT, Claude, DeepSeek and Grok."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from apps.doors.imports.formats.base import Clue, Format, Item, LeftOut, Omission, PastFile, PastMemory, PastProfile
from apps.doors.imports.formats.base import gettext_noop as _
from apps.doors.imports.formats.uploads import Upload, read_nodes, read_objects
from apps.doors.imports.formats.values import (
    Draft,
    Turn,
    as_list,
    as_object,
    cut_elements,
    follow_turns,
    name_source,
    read_number,
    read_parts,
    read_tags,
    read_text,
    read_time,
    read_title,
    split_statements,
    trace_branch,
)

# ChatGPT


class ChatGPT(Format):
    """An archive with `conversations.json`, or with `conversations-000.json` and so on since 2026.

    A conversation is a tree (`mapping`): each answer that was generated again and each message that was edited is a
    branch. The person last saw the path from `current_node` to the root.
    """

    name = "chatgpt"
    label = "ChatGPT"
    description = _("ChatGPT export (the archive, or conversations.json)")

    def score(self, clue: Clue) -> float:
        return 0.9 if clue.has("mapping") or "mapping" in clue.top else 0.0

    def read(self, upload: Upload) -> Iterator[Item]:
        """Yield the conversations, then what ChatGPT remembers and was told to keep in mind about the person."""
        kept = _KeptInMind()
        for member in upload.members:
            if member.name and not re.fullmatch(r"conversations(-\d+)?\.json", member.name):
                continue
            with upload.open_text(member) as text:
                for value in read_objects(read_nodes(text)):
                    kept.note(value)
                    yield read_chatgpt_conversation(value)
        yield from kept.list_items()


_TEXTS = frozenset({"text", "multimodal_text"})
_THINKING = frozenset({"thoughts", "reasoning_recap"})

# Marks of sources, which mean nothing outside of the page.
_CITATION = re.compile("\ue200[^\ue201]*\ue201|【[^【】]*†[^【】]*】")

_SAVED, _INSTRUCTIONS = "model_editable_context", "user_editable_context"
_NOT_REMEMBERED = ("is_do_not_remember", "is_temporary_chat", "is_temporary", "temporary")
_NUMBERED = re.compile(r"(?m)^[^\S\n]*\d+[.)][^\S\n]+")
_DATED = re.compile(r"(?m)^[^\S\n]*(?:\d+[.)][^\S\n]+)?\[(?P<day>\d{4}-\d\d-\d\d)\][.:]?[^\S\n]*")
_BEGINNING = datetime.min.replace(tzinfo=UTC)
_FENCED = re.compile(r"```(?P<text>.*)```", re.DOTALL)


def read_chatgpt_conversation(value: Any) -> Item:
    """Return a conversation, or why it is none."""
    return _read_tree(value, service="ChatGPT", read=_read_chatgpt_message)


def _read_tree(value: Any, *, service: str, read: Callable[[str, Mapping[str, Any], Draft], None]) -> Item:
    """Return the conversation in a tree of messages, of which `read` reads one node."""
    conversation = as_object(value)
    title = read_title(conversation.get("title"))
    if not isinstance(conversation.get("mapping"), dict):
        return Omission(LeftOut.MALFORMED, label=title, detail=f"This is not a conversation from {service}.")
    nodes = {name: as_object(node) for name, node in conversation["mapping"].items()}
    path = _follow_branch(nodes, conversation.get("current_node"))
    draft = Draft()
    for name in path:
        read(name, nodes[name], draft)
    for name in nodes.keys() - set(path):
        other = Draft()
        read(name, nodes[name], other)
        draft.left_out[LeftOut.OTHER_BRANCH] += bool(other.messages)
    return draft.finish(
        title=title,
        source_id=conversation.get("conversation_id") or conversation.get("id"),
        started=conversation.get("create_time") or conversation.get("inserted_at"),
        learns=_is_remembered(conversation),
    )


def _follow_branch(nodes: Mapping[str, Mapping[str, Any]], leaf: Any) -> list[str]:
    """Return the names from the root to the leaf; without a valid leaf to the newest message that nothing follows."""

    def get_time(name: str) -> datetime:
        message = _get_message(nodes[name])
        return read_time(message.get("create_time") or message.get("inserted_at")) or _BEGINNING

    order = sorted(nodes, key=get_time)  # the order in the file means nothing
    if not isinstance(leaf, str) or leaf not in nodes:
        followed = {str(node.get("parent")) for node in nodes.values()}
        leaf = next((name for name in reversed(order) if name not in followed), None)
    # A node that does not even name a parent has lost its way, too.
    return trace_branch({name: nodes[name].get("parent", "") for name in order}, leaf)


def _is_remembered(conversation: Mapping[str, Any]) -> bool:
    """Whether ChatGPT may remember from a conversation: not a temporary one, nor where memory was off."""
    scope = str(conversation.get("memory_scope") or "").lower()
    return not (
        any(conversation.get(name) for name in _NOT_REMEMBERED) or "disabled" in scope or scope in ("none", "off")
    )


def _get_message(node: Any) -> Mapping[str, Any]:
    return as_object(as_object(node).get("message"))


def _read_chatgpt_message(name: str, node: Mapping[str, Any], draft: Draft) -> None:
    """Add what was said, or count why it is left out; nodes without a message are the tree's own."""
    message = _get_message(node)
    if not message:
        return
    content = as_object(message.get("content"))
    text, attachments = read_parts(as_list(content.get("parts")))
    role = as_object(message.get("author")).get("role")
    if (reason := _find_reason(message, role=role, kind=content.get("content_type"))) is not None:
        draft.left_out[LeftOut.ATTACHMENT] += attachments
        draft.left_out[reason] += 1
        return
    draft.say(
        role,
        read_text(_CITATION.sub("", text)),
        source_id=message.get("id") or name,
        said_at=read_time(message.get("create_time")),
        attachments=attachments,
    )


def _find_reason(message: Mapping[str, Any], *, role: Any, kind: Any) -> LeftOut | None:
    metadata = as_object(message.get("metadata"))
    if role == "tool" or message.get("recipient") not in (None, "all"):
        return LeftOut.TOOL
    if kind in _THINKING or message.get("channel") == "analysis":
        return LeftOut.THINKING
    hidden = metadata.get("is_visually_hidden_from_conversation") or metadata.get("is_user_system_message")
    if role not in ("user", "assistant") or hidden:
        return LeftOut.HIDDEN
    if kind not in _TEXTS:
        return LeftOut.TOOL if kind in ("code", "execution_output") else LeftOut.HIDDEN
    return None


class _KeptInMind:
    """Collect what ChatGPT remembers: each conversation holds what was there at its time, and the newest counts."""

    def __init__(self) -> None:
        self._newest: dict[str, tuple[datetime, Mapping[str, Any]]] = {}

    def note(self, value: Any) -> None:
        """Note the hidden messages of a conversation that hold it."""
        conversation = as_object(value)
        if not _is_remembered(conversation):
            return
        since = read_time(conversation.get("create_time")) or read_time(conversation.get("update_time"))
        for node in as_object(conversation.get("mapping")).values():
            message = _get_message(node)
            kind = as_object(message.get("content")).get("content_type")
            time = read_time(message.get("create_time")) or since or _BEGINNING
            if kind in (_SAVED, _INSTRUCTIONS) and time >= self._newest.get(kind, (_BEGINNING,))[0]:
                self._newest[kind] = (time, message)

    def list_items(self) -> Iterator[Item]:
        """Yield the saved memories with their dates, and the custom instructions."""
        saved = as_object(self._newest.get(_SAVED, (_BEGINNING, {}))[1].get("content"))
        for day, statement in _split_saved(read_text(saved.get("model_set_context"))):
            yield PastMemory(source_id=name_source(statement), content=statement, said_at=read_time(day))
        message = self._newest.get(_INSTRUCTIONS, (_BEGINNING, {}))[1]
        content, told = as_object(message.get("content")), as_object(message.get("metadata"))
        told = as_object(told.get("user_context_message_data"))
        for section, field, otherwise in (
            ("background", "user_profile", "about_user_message"),
            ("reply_style", "user_instructions", "about_model_message"),
        ):
            text = read_text(content.get(field))
            if fenced := _FENCED.search(text):  # what the person wrote, after words of ChatGPT's own
                text = read_text(fenced["text"])
            if text := text or read_text(told.get(otherwise)):
                yield PastProfile(section=section, text=text)


def _split_saved(text: str) -> Iterator[tuple[str, str]]:
    """Yield the memories in a numbered text, each with its day: "1. [2025-11-02]. Likes tea."; "" for no day."""
    starts = list(_DATED.finditer(text)) or list(_NUMBERED.finditer(text))
    if not starts:
        yield from (("", statement) for statement, _heading in split_statements(text))
        return
    for start, end in zip(starts, [*(found.start() for found in starts[1:]), len(text)], strict=True):
        if statement := read_text(text[start.end() : end]):
            yield start.groupdict().get("day", ""), statement


# Claude


class Claude(Format):
    """`conversations.json` with `chat_messages`, and `memories.json` where Claude remembers something.

    Exports come as one archive or as several (`conversations-000.zip`, `memories-000.zip`), or as the single files.
    """

    name = "claude"
    label = "Claude"
    description = _("Claude export (the archive, or its JSON files)")

    def score(self, clue: Clue) -> float:
        known = clue.has_any("chat_messages", "conversations_memory", "project_memories")
        return 0.9 if known or {"chat_messages", "conversations_memory"} & clue.top.keys() else 0.0

    def read(self, upload: Upload) -> Iterator[Item]:
        """Yield the conversations and the memories of an export."""
        for member in upload.members:
            if re.fullmatch(r"(projects|design_chats).*\.json", member.name):
                yield Omission(LeftOut.UNSUPPORTED, label=member.name)
            elif not re.fullmatch(r"users.*\.json", member.name):
                with upload.open_text(member) as text:
                    for value in read_objects(read_nodes(text)):
                        yield from _read_claude_object(as_object(value))


_CLAUDE_ROOT = "00000000-0000-4000-8000-000000000000"


def _read_claude_object(found: Mapping[str, Any]) -> Iterator[Item]:
    if "conversations_memory" in found or "project_memories" in found:
        yield from _read_claude_memories(found)
    elif "chat_messages" in found:
        yield read_claude_conversation(found)
    elif "docs" in found or "prompt_template" in found:
        yield Omission(LeftOut.UNSUPPORTED, label=read_title(found.get("name")))
    else:
        label = read_title(found.get("name"))
        yield Omission(LeftOut.MALFORMED, label=label, detail="This is not a conversation from Claude.")


def _read_claude_memories(found: Mapping[str, Any]) -> Iterator[Item]:
    """Yield the statements of what Claude remembers: one text about the person, one for each project."""
    said_at = read_time(found.get("updated_at") or found.get("created_at"))
    texts = [found.get("conversations_memory"), *as_object(found.get("project_memories")).values()]
    for text in texts:
        for statement, heading in split_statements(read_text(text)):
            tags = read_tags(heading)
            yield PastMemory(source_id=name_source(statement), content=statement, tags=tags, said_at=said_at)


def read_claude_conversation(found: Mapping[str, Any]) -> Item:
    """Return a conversation as the person saw it last, or why it is none."""
    everything = [as_object(message) for message in as_list(found.get("chat_messages"))]
    path = _follow_answers(everything)
    draft = Draft()
    draft.left_out[LeftOut.OTHER_BRANCH] = len(everything) - len(path)
    for message in path:
        _read_claude_message(message, draft)
    return draft.finish(
        title=read_title(found.get("name")), source_id=found.get("uuid"), started=found.get("created_at")
    )


def _follow_answers(messages: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Return the messages that lead to the last one; all of them if they do not say what they answer."""
    by_id = {str(message.get("uuid") or f"#{number}"): message for number, message in enumerate(messages)}
    parents = {name: message.get("parent_message_uuid") or "" for name, message in by_id.items()}
    if not any(isinstance(parent, str) and parent in by_id for parent in parents.values()):
        return messages
    roots = {name: None if parent == _CLAUDE_ROOT else parent for name, parent in parents.items()}
    return [by_id[name] for name in trace_branch(roots, next(reversed(by_id)))]


def _read_claude_message(message: Mapping[str, Any], draft: Draft) -> None:
    sent = [as_object(file) for file in (*as_list(message.get("attachments")), *as_list(message.get("files")))]
    # Texts that were pasted or taken from files: the model read them, but they are not what the person says.
    files = [
        PastFile(name=read_title(file.get("file_name")) or "paste.txt", text=text)
        for file in sent
        if (text := read_text(file.get("extracted_content")))
    ]
    texts = []
    for block in map(as_object, as_list(message.get("content"))):
        kind = block.get("type")
        if kind == "text":
            texts.append(read_text(block.get("text")))
        elif kind in ("tool_use", "tool_result"):
            draft.left_out[LeftOut.TOOL] += 1
        elif kind == "thinking":
            draft.left_out[LeftOut.THINKING] += 1
    draft.say(
        message.get("sender"),
        "\n\n".join(filter(None, texts)) or ("" if texts else read_text(message.get("text"))),
        source_id=message.get("uuid"),
        said_at=read_time(message.get("created_at")),
        files=files,
        attachments=len(sent) - len(files),
    )


# DeepSeek


class DeepSeek(Format):
    """`conversations.json` with trees like ChatGPT's, and messages of fragments.

    The file does not say which branch the person saw last: it is taken to be the one that goes on longest in time.
    """

    name = "deepseek"
    label = "DeepSeek"
    description = _("DeepSeek export (the archive, or conversations.json)")

    def score(self, clue: Clue) -> float:
        nodes = as_object(clue.found.get("mapping") or clue.top.get("mapping")).values()
        own = any({"fragments", "reasoning_content"} & _get_message(node).keys() for node in nodes)
        return 1.0 if own else 0.0

    def read(self, upload: Upload) -> Iterator[Item]:
        """Yield the conversations of an export."""
        for member in upload.members:
            if not member.name.startswith("user"):
                with upload.open_text(member) as text:
                    yield from map(read_deepseek_conversation, read_objects(read_nodes(text)))


_FRAGMENTS = {"REQUEST": "user", "RESPONSE": "assistant"}


def read_deepseek_conversation(value: Any) -> Item:
    """Return a conversation, or why it is none."""
    return _read_tree(value, service="DeepSeek", read=_read_deepseek_message)


def _read_deepseek_message(name: str, node: Mapping[str, Any], draft: Draft) -> None:
    message = _get_message(node)
    if not message:
        return
    # Without fragments, as in exports of early 2025, whose turn it is says who speaks.
    role = "assistant" if draft.messages and draft.messages[-1].role == "user" else "user"
    texts = [read_text(message.get("content"))]
    for fragment in map(as_object, as_list(message.get("fragments"))):
        kind = str(fragment.get("type")).upper()
        if kind in _FRAGMENTS:
            role = _FRAGMENTS[kind]
            texts.append(read_text(fragment.get("content")))
        else:
            draft.left_out[LeftOut.THINKING if kind == "THINK" else LeftOut.TOOL] += 1
    draft.left_out[LeftOut.THINKING] += bool(message.get("reasoning_content"))
    draft.say(
        role,
        "\n\n".join(filter(None, texts)),
        source_id=node.get("id") or name,  # each conversation numbers its messages anew, so the node's is enough
        said_at=read_time(message.get("inserted_at")),
        attachments=len(as_list(message.get("files"))),
    )


# Grok


class Grok(Format):
    """`prod-grok-backend.json`: conversations, each with its messages, which may branch."""

    name = "grok"
    label = "Grok"
    description = _("Grok export (the archive, or prod-grok-backend.json)")

    def score(self, clue: Clue) -> float:
        return 0.95 if clue.has("conversation", "responses") else 0.0

    def read(self, upload: Upload) -> Iterator[Item]:
        """Yield the conversations, then how much else is in the file."""
        others: Counter[str] = Counter()
        for member in upload.members:
            if not member.name.startswith("prod-mc-"):
                with upload.open_text(member) as text:
                    for node in read_nodes(text):
                        if node.is_element and node.path in ((), ("conversations",)):
                            yield read_grok_conversation(node.value)
                        elif node.is_element:
                            others[node.path[0]] += 1
        for name, count in others.items():
            yield Omission(LeftOut.UNSUPPORTED, label=name, count=count)


def read_grok_conversation(value: Any) -> Item:
    """Return a conversation, or why it is none. The branch with the newest message counts, as the file rarely says."""
    about = as_object(as_object(value).get("conversation"))
    title = read_title(about.get("title"))
    if not isinstance(as_object(value).get("responses"), list):
        return Omission(LeftOut.MALFORMED, label=title, detail="This is not a conversation from Grok.")
    turns = list(_list_grok_turns(as_object(response).get("response") for response in value["responses"]))
    return follow_turns(turns, about.get("leaf_response_id")).finish(
        title=title,
        source_id=about.get("id"),
        started=about.get("create_time"),
        learns=not about.get("temporary"),
    )


def _list_grok_turns(messages: Iterable[Any]) -> Iterator[Turn]:
    for message in map(as_object, messages):
        time = message.get("create_time")  # ISO 8601, or MongoDB's form
        number = as_object(as_object(time).get("$date")).get("$numberLong")
        text, _sources = cut_elements(read_text(message.get("message")), "<grok:render", "</grok:render>")
        files = [*as_list(message.get("file_attachments")), *as_list(message.get("generated_image_urls"))]
        left_out = {LeftOut.THINKING: int(bool(message.get("thinking_trace"))), LeftOut.ATTACHMENT: len(files)}
        yield Turn(
            source_id=str(message.get("_id") or ""),
            parent=message.get("parent_response_id"),
            role="user" if message.get("sender") == "human" else "assistant",  # which may be named after its model
            text=text,
            said_at=read_time(read_number(number) or time),
            left_out=left_out,
        )
