"""Exports of memory stores: mem0, Letta and Zep (Graphiti)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apps.core.text.sentences import cut_client_blocks
from apps.doors.imports.formats.base import Clue, Format, Item, LeftOut, Omission, PastMemory, Remark
from apps.doors.imports.formats.base import gettext_noop as _
from apps.doors.imports.formats.uploads import Node, Upload, collect, read_nodes
from apps.doors.imports.formats.values import (
    Draft,
    as_list,
    as_object,
    name_source,
    read_tag,
    read_tags,
    read_text,
    read_time,
    read_title,
    split_statements,
)

# mem0

ONE_PAGE = "This file is one page of several. Export the other pages, too, and import each of them."

_LISTS = frozenset({"results", "memories"})
_TEXT_FIELDS = ("memory", "data", "content", "text")


class Mem0(Format):
    """What `get_all` answers (`{"results": […]}` or a list), the memory export, and the backup of OpenMemory."""

    name = "mem0"
    label = "mem0"
    description = _("mem0 memories (JSON)")

    def score(self, clue: Clue) -> float:
        if clue.under in _LISTS and clue.has_any(*_TEXT_FIELDS):
            return 0.7
        is_memory = clue.has("memory") and clue.has_any("hash", "user_id", "agent_id", "metadata")
        return 0.8 if is_memory and clue.under in ("", "messages") else 0.0

    def read(self, upload: Upload) -> Iterator[Item]:
        """Yield the memories of the person that comes first in the file."""
        owners: list[str] = []
        members = upload.members
        # OpenMemory's backup has each memory twice: only `memories.json` has its state, too.
        has_states = any(member.name == "memories.json" for member in members)
        for member in members:
            if not (has_states and member.name.endswith(".gz")):
                with upload.open_text(member) as text:
                    yield from _read_mem0(read_nodes(text), owners)


def _read_mem0(nodes: Iterator[Node], owners: list[str]) -> Iterator[Item]:
    others: Counter[str] = Counter()
    single: dict[str, Any] = {}
    for node in nodes:
        if node.is_element and (not node.path or node.path[0] in _LISTS):
            yield _read_mem0_memory(node.value, owners)
        elif node.is_element:
            others[node.path[0]] += 1
        elif node.path == ("next",) and node.value:
            yield Remark(ONE_PAGE)
        elif node.path:
            single[node.path[0]] = node.value
    if "memory" in single:  # the file is one memory
        yield _read_mem0_memory(single, owners)
    for name, count in others.items():
        reason = LeftOut.RELATION if name == "relations" else LeftOut.UNSUPPORTED
        yield Omission(reason, label=name, count=count)


def _read_mem0_memory(value: Any, owners: list[str]) -> Item:
    memory = as_object(value)
    texts = (read_text(memory.get(name)) for name in _TEXT_FIELDS)
    content = next(filter(None, texts), "")
    if not memory or not any(name in memory for name in _TEXT_FIELDS):
        return Omission(LeftOut.MALFORMED, detail="This is not a memory from mem0.")
    if not content:
        return Omission(LeftOut.EMPTY)
    if memory.get("deleted_at") or memory.get("is_deleted") or "DELETE" in (memory.get("event"), memory.get("state")):
        return Omission(LeftOut.DELETED, label=content[:80])
    state = str(memory.get("state") or "").lower()
    if state == "deleted":
        return Omission(LeftOut.DELETED, label=content[:80])
    owner = str(memory.get("user_id") or "")
    if not owner and memory.get("agent_id"):
        return Omission(LeftOut.ASSISTANT, label=content[:80])
    if not owner and (memory.get("run_id") or memory.get("app_id")):
        return Omission(LeftOut.OTHER_PERSON, label=content[:80])
    if owner:
        owners.append(owner)
        del owners[1:]
        if owner != owners[0]:
            return Omission(LeftOut.OTHER_PERSON, label=owner)
    return PastMemory(
        source_id=str(memory.get("id") or name_source(content)),
        content=content,
        tags=read_tags(
            [as_object(one).get("name") if isinstance(one, dict) else one for one in as_list(memory.get("categories"))]
        ),
        said_at=read_time(memory.get("created_at")) or read_time(memory.get("updated_at")),
        ended_at=read_time(memory.get("expiration_date")),
        ended=state in ("archived", "expired"),
        muted=state == "paused",
    )


# Letta

_BLOCKS = frozenset({"blocks", "core_memory"})
_PASSAGES = frozenset({"passages", "archival_memory", "archival_passages"})


class Letta(Format):
    """Agent files (`.af`, the form of today and the one of early 2025), archival memory, and core memory blocks."""

    name = "letta"
    label = "Letta"
    description = _("Letta agent file, blocks or passages")

    def score(self, clue: Clue) -> float:
        if clue.under in _PASSAGES:
            return 1.0
        if "agents" in clue.top or (
            "core_memory" in clue.top and {"agent_type", "system", "messages"} & clue.top.keys()
        ):
            return 0.9
        is_block = clue.has("label", "value")
        is_passage = clue.has("text") and clue.has_any("agent_id", "archive_id", "embedding_config", "organization_id")
        return 0.8 if is_block or is_passage else 0.0

    def read(self, upload: Upload) -> Iterator[Item]:
        """Yield the memories and, of agent files, the conversation of each agent."""
        for member in upload.members:
            with upload.open_text(member) as text:
                agent: dict[str, Any] = {}
                for node in read_nodes(text):
                    name = node.path[0] if node.path else ""
                    if node.is_element and (name in _PASSAGES or not name):
                        yield from _read_stored(as_object(node.value))
                    elif node.is_element and name in _BLOCKS:
                        yield from read_block(as_object(node.value))
                    elif node.is_element and name == "agents":
                        yield from read_agent(as_object(node.value))
                    elif name:
                        collect(agent, node)
                if "messages" in agent:  # of the older form, the file is the agent
                    yield from read_agent(agent)
                elif "label" in agent:
                    yield from read_block(agent)


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


def _read_stored(stored: Mapping[str, Any]) -> Iterator[Item]:
    if "label" in stored:
        yield from read_block(stored)
    elif "text" in stored:
        yield read_passage(stored)
    else:
        yield Omission(LeftOut.MALFORMED, detail="This is neither a block nor a passage from Letta.")


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
        tags=read_tags(as_list(passage.get("tags"))),
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
    draft = Draft()
    for message in everything:
        _read_letta_message(message, draft, answers_by_tool=answers_by_tool)
    yield draft.finish(title=title, started=agent.get("created_at"))


def _read_letta_message(message: Mapping[str, Any], draft: Draft, *, answers_by_tool: bool) -> None:
    role, left_out = message.get("role"), draft.left_out
    text = _read_content(message.get("content") or message.get("text"))
    if role == "user":
        said = _unwrap_said(text)
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
        text = text if answer is None else answer
        if not text and message.get("tool_calls"):
            left_out[LeftOut.TOOL] += 1
            return
    # An agent file numbers its messages anew each time it is exported, so its IDs say nothing.
    draft.say(role, text, said_at=read_time(message.get("created_at")))


def _read_content(content: Any) -> str:
    if isinstance(content, str):
        return read_text(content)
    parts = (as_object(part) for part in as_list(content))
    texts = [read_text(part.get("text")) for part in parts if part.get("type", "text") == "text"]
    # A part that a client or the agent's own server added says nothing of what was said.
    texts = [text for text in texts if cut_client_blocks(text)]
    return "\n\n".join(filter(None, texts))


def _unwrap_said(text: str) -> str | None:
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


# Zep

_FACTS = frozenset({"edges", "facts", "relevant_facts", "entity_edges"})
_SESSIONS = frozenset({"sessions", "threads"})
_NODES = frozenset({"nodes", "entities", "episodes", "communities"})


class Zep(Format):
    """Zep and Graphiti: facts (edges of the graph, with the time when they were true), and sessions with messages."""

    name = "zep"
    label = "Zep"
    description = _("Zep or Graphiti facts and sessions (JSON)")

    def score(self, clue: Clue) -> float:
        if clue.under in _FACTS:
            return 1.0
        is_session = clue.has("messages") and (clue.under in _SESSIONS or clue.has_any("session_id", "thread_id"))
        is_message = clue.under == "messages" and bool({"session_id", "thread_id"} & clue.top.keys())
        return 0.85 if is_session or is_message or clue.has_any("fact", "role_type") else 0.0

    def read(self, upload: Upload) -> Iterator[Item]:
        """Yield the facts and the conversations."""
        for member in upload.members:
            with upload.open_text(member) as text:
                session: dict[str, Any] = {}
                others: Counter[str] = Counter()
                for node in read_nodes(text):
                    name = node.path[0] if node.path else ""
                    if node.is_element and (name in _FACTS or name in _SESSIONS or not name):
                        yield from _read_zep_object(node.value, session)
                    elif node.is_element and name in _NODES:
                        others[name] += 1
                    elif name:
                        collect(session, node)
                for name, count in others.items():
                    yield Omission(LeftOut.RELATION, label=name, count=count)
                if "fact" in session:  # the file is one fact
                    yield read_fact(session)
                if "messages" in session:
                    yield from read_session(session)


def _read_zep_object(value: Any, session: dict[str, Any]) -> Iterator[Item]:
    found = as_object(value)
    if isinstance(value, str):
        yield read_fact({"fact": value})
    elif "fact" in found:
        yield read_fact(found)
    elif "messages" in found:
        yield from read_session(found)
    elif "content" in found:
        session.setdefault("messages", []).append(found)
    elif found:
        yield Omission(LeftOut.RELATION, label=read_title(found.get("name")))
    else:
        yield Omission(LeftOut.MALFORMED, detail="This is neither a fact nor a session from Zep.")


def read_fact(edge: Mapping[str, Any]) -> Item:
    """Return a fact. It has ended where the source says until when it was true, or that it does not count any more."""
    content = read_text(edge.get("fact"))
    if not content:
        return Omission(LeftOut.EMPTY, label=read_title(edge.get("name")))
    return PastMemory(
        source_id=str(edge.get("uuid") or edge.get("uuid_") or name_source(content)),
        content=content,
        tags=read_tags(str(edge.get("name") or "").replace("_", " ").lower()),
        said_at=read_time(edge.get("created_at")) or read_time(edge.get("valid_at")),
        started_at=read_time(edge.get("valid_at")),
        ended_at=read_time(edge.get("invalid_at")),
        ended=bool(edge.get("expired_at")),
    )


def read_session(session: Mapping[str, Any]) -> Iterator[Item]:
    """Yield the facts that are with a session, and its conversation."""
    for fact in as_list(session.get("facts")):
        yield read_fact({"fact": fact} if isinstance(fact, str) else as_object(fact))
    name = session.get("session_id") or session.get("thread_id") or session.get("uuid")
    title = read_title(as_object(session.get("metadata")).get("title") or session.get("title"))
    draft = Draft()
    for message in map(as_object, as_list(session.get("messages"))):
        draft.say(
            # `role` was a name of one's own choice, with `role_type`; now it is what `role_type` was.
            message.get("role_type") or message.get("role"),
            read_text(message.get("content")),
            source_id=message.get("uuid") or message.get("uuid_"),
            said_at=read_time(message.get("created_at") or message.get("timestamp")),
        )
    yield draft.finish(title=title, source_id=name, started=session.get("created_at"))
