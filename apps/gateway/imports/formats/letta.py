"""Letta: agent files (`.af`, the form of today and the one of early 2025), archival memory, and core memory blocks."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apps.core.text.client_blocks import cut_client_blocks
from apps.gateway.imports.formats.files import Upload
from apps.gateway.imports.formats.json_stream import read_document
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

BLOCKS = frozenset({"blocks", "core_memory"})
PASSAGES = frozenset({"passages", "archival_memory", "archival_passages"})

# Agents keep blocks about anything: their character, their tasks, their rules. Only what is named after the person, or
# described as being about them, is taken for being about them.
_ABOUT_THE_PERSON = frozenset({"human", "humans", "user", "person", "preferences", "profile"})
_ABOUT_THE_ASSISTANT = frozenset(
    {"persona", "instructions", "directives", "guidelines", "policies", "policy", "rules", "tool", "tools", "soul"}
)
_DESCRIBED = re.compile(r"(?i)\b(?:about|of|on) (?:the |this )?(?:user|human|person)\b|用户的|关于用户")
_PLACEHOLDER = re.compile(
    r"(?i)[-*•\s]*(?:\[[^\]]*\]|<[^>]*>|\{[^}]*\}|not (?:yet )?(?:known|learned|set|specified|provided|given)"
    r"|unknown|none|none yet|nothing yet|n/?a|tbd|empty|未知|暂无|无|待补充|待定|尚未了解)[.。]?"
)
_LABELLED = re.compile(r"[^\S\n]*(?:[-*•][^\S\n]+)?(?P<label>[^\n:：]{1,60})[:：](?P<value>[^\n]*)")
_UNFILLED = re.compile(
    r"(?i)^this is my section of core memory\b.*$|^I (?:do not|don't)(?: yet)? know (?:anything|much)\b.*$"
)
_ANSWER_TOOL = "send_message"


def read(upload: Upload) -> Iterator[Item]:
    """Yield the memories and, of agent files, the conversation of each agent."""
    for member in upload.members:
        with upload.open_text(member) as text:
            agent: dict[str, Any] = {}
            for node in read_document(text):
                name = node.path[0] if node.path else ""
                if node.is_element and (name in PASSAGES or not name):
                    yield from _read_stored(node.value)
                elif node.is_element and name in BLOCKS:
                    yield from read_block(as_object(node.value))
                elif node.is_element and name == "agents":
                    yield from read_agent(as_object(node.value))
                elif node.is_element:
                    agent.setdefault(name, []).append(node.value)
                else:
                    agent[name] = node.value
            if "messages" in agent:  # of the older form, the file is the agent
                yield from read_agent(agent)
            elif "label" in agent:
                yield from read_block(agent)


def _read_stored(value: Any) -> Iterator[Item]:
    stored = as_object(value)
    if "label" in stored:
        yield from read_block(stored)
    elif "text" in stored:
        yield read_passage(stored)
    else:
        yield Omission(LeftOut.MALFORMED, detail="This is neither a block nor a passage of Letta.")


def read_passage(passage: Mapping[str, Any]) -> Item:
    """Return a passage of archival memory."""
    content = read_text(passage.get("text"))
    if not content:
        return Omission(LeftOut.EMPTY)
    if passage.get("is_deleted"):
        return Omission(LeftOut.DELETED, label=content[:80])
    return PastMemory(
        source_id=str(passage.get("id") or name_source(content)),
        content=content,
        tags=tuple(filter(None, map(read_tag, as_list(passage.get("tags"))))),
        said_at=read_time(passage.get("created_at")),
    )


def read_block(block: Mapping[str, Any]) -> Iterator[Item]:
    """Yield the statements of a block of core memory; those that say how the assistant is are left out."""
    label = read_tag(block.get("label"))
    value = read_text(block.get("value"))
    if not value:
        yield Omission(LeftOut.EMPTY, label=label)
    elif block.get("read_only") or not _is_about_person(label, read_text(block.get("description"))):
        yield Omission(LeftOut.ASSISTANT, label=label)
    else:
        said_at = read_time(block.get("updated_at") or block.get("created_at"))
        tag = label.rsplit("/", 1)[-1]
        tags = () if _ABOUT_THE_PERSON.intersection(_list_words(tag)) else (tag,)
        filled = _fill(value)
        if not filled:
            yield Omission(LeftOut.EMPTY, label=label)
        for statement, _heading in split_statements(filled):
            name = name_source(block.get("id") or label, statement)
            yield PastMemory(source_id=name, content=statement, tags=tags, said_at=said_at)


def _is_about_person(label: str, description: str) -> bool:
    """Whether a block is said to be about the person: `human`, `about_user`, `system/human/overview`."""
    words = _list_words(label)
    about_person = _ABOUT_THE_PERSON.intersection(words) or _DESCRIBED.search(description)
    return bool(about_person) and not _ABOUT_THE_ASSISTANT.intersection(words)


def _list_words(label: str) -> list[str]:
    return re.findall(r"[^\W_]+", label.lower())


def _fill(text: str) -> str:
    """A block without what its template left open: placeholders, their labels, and the words that introduce them."""
    first, apart, rest = text.partition("\n\n")
    if not apart or _LABELLED.match(first):
        first, rest = "", text
    lines, open_ones = [], 0
    given = rest.split("\n")
    for line, following in zip(given, [*given[1:], ""], strict=True):
        labelled = _LABELLED.fullmatch(line)
        value = labelled["value"].strip() if labelled else line.strip()
        heads_list = following.lstrip().startswith(("-", "*", "•"))
        if _PLACEHOLDER.fullmatch(value) or (labelled and not value and not heads_list):
            open_ones += 1
        elif not _UNFILLED.fullmatch(line.strip()):
            # Lines with a label are statements of their own.
            lines.append(f"- {line.strip().lstrip('-*•').strip()}" if labelled and value else line)
    # In a template that still has open places, the first paragraph says what the block is for.
    return "\n".join(lines if open_ones else [first, "", *lines]).strip()


def read_agent(agent: Mapping[str, Any]) -> Iterator[Item]:
    """Yield the conversation of an agent, and what of older files is with it."""
    for block in as_list(as_object(agent.get("memory")).get("blocks")):
        yield from read_block(as_object(block))
    for passage in as_list(agent.get("passages")):
        yield read_passage(as_object(passage))
    title = read_title(agent.get("name"))
    everything = [as_object(message) for message in as_list(agent.get("messages"))]
    answers_by_tool = any(_find_answer(message) is not None for message in everything)
    left_out: Counter[LeftOut] = Counter()
    messages: list[PastMessage] = []
    for number, message in enumerate(everything):
        messages += _read_message(number, message, left_out, answers_by_tool=answers_by_tool)
    if not messages:
        yield Omission(LeftOut.EMPTY, label=title)
        return
    yield PastConversation(
        source_id=name_source(title, agent.get("created_at"), messages[0].content),
        title=title,
        messages=tuple(messages),
        started_at=read_time(agent.get("created_at")) or messages[0].said_at,
        left_out=+left_out,
    )


def _read_message(
    number: int, message: Mapping[str, Any], left_out: Counter[LeftOut], *, answers_by_tool: bool
) -> Iterator[PastMessage]:
    role = message.get("role")
    text = _read_content(message.get("content") or message.get("text"))
    if role == "user":
        said = _unwrap(text)
        if said is None:
            left_out[LeftOut.HIDDEN] += 1
            return
        text = said
    elif role == "assistant":
        answer = _find_answer(message)
        if answers_by_tool and answer is None:
            left_out[LeftOut.THINKING] += bool(text)
            left_out[LeftOut.TOOL] += bool(message.get("tool_calls"))
            return
        text = answer if answer is not None else text
    else:
        left_out[LeftOut.TOOL if role == "tool" else LeftOut.HIDDEN] += 1
        return
    if not text:
        left_out[LeftOut.TOOL if message.get("tool_calls") else LeftOut.EMPTY] += 1
        return
    said_at = read_time(message.get("created_at"))
    # An agent file numbers its messages anew each time it is exported.
    source_id = name_source(number, role, text, message.get("created_at"))
    yield from make_messages(source_id=source_id, role=str(role), content=text, said_at=said_at)


def _read_content(content: Any) -> str:
    if isinstance(content, str):
        return read_text(content)
    parts = (as_object(part) for part in as_list(content))
    texts = [read_text(part.get("text")) for part in parts if part.get("type", "text") == "text"]
    # A part that a client or the agent's own server added says nothing of what was said.
    texts = [text for text in texts if cut_client_blocks(text)]
    return "\n\n".join(filter(None, texts))


def _unwrap(text: str) -> str | None:
    """What the person said in a message, which may be in MemGPT's form; None for what clocks and servers said."""
    if text and not cut_client_blocks(text):
        return None
    if not text.startswith("{"):
        return text
    try:
        wrapped = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(wrapped, dict) or "type" not in wrapped:
        return text
    return read_text(wrapped.get("message")) if wrapped["type"] == "user_message" else None


def _find_answer(message: Mapping[str, Any]) -> str | None:
    """What an agent says by a tool, as those of MemGPT's kind do; None where it does not."""
    calls: Sequence[Any] = as_list(message.get("tool_calls"))
    for function in (as_object(as_object(call).get("function")) for call in calls):
        if function.get("name") == _ANSWER_TOOL:
            try:
                return read_text(as_object(json.loads(str(function.get("arguments")))).get("message"))
            except (ValueError, RecursionError):
                return ""
    return None
