"""Zep and Graphiti: facts (edges of the graph, with the time in which they were true) and sessions with messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

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
)
from apps.gateway.imports.types import Item, LeftOut, Omission, PastConversation, PastMemory, PastMessage

FACTS = frozenset({"edges", "facts", "relevant_facts", "entity_edges"})
SESSIONS = frozenset({"sessions", "threads"})
NODES = frozenset({"nodes", "entities", "episodes", "communities"})

_ROLES = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant"}


def read(upload: Upload) -> Iterator[Item]:
    """Yield the facts and the conversations."""
    for member in upload.members:
        with upload.open_text(member) as text:
            session: dict[str, Any] = {}
            others: Counter[str] = Counter()
            for node in read_document(text):
                name = node.path[0] if node.path else ""
                if node.is_element and (name in FACTS or name in SESSIONS or not name):
                    yield from _read_object(node.value, session)
                elif node.is_element and name in NODES:
                    others[name] += 1
                elif node.is_element:
                    session.setdefault(name, []).append(node.value)
                else:
                    session[name] = node.value
            for name, count in others.items():
                yield Omission(LeftOut.RELATION, label=name, count=count)
            if "messages" in session:
                yield from read_session(session)


def _read_object(value: Any, session: dict[str, Any]) -> Iterator[Item]:
    found = as_object(value)
    if isinstance(value, str):
        yield read_fact({"fact": value})
    elif "fact" in found:
        yield read_fact(found)
    elif "messages" in found:
        yield from read_session(found)
    elif "content" in found:
        session.setdefault("messages", []).append(found)
    else:
        yield Omission(LeftOut.RELATION, label=read_title(found.get("name")))


def read_fact(edge: Mapping[str, Any]) -> Item:
    """Return a fact. It has ended where the source says until when it was true, or that it does not count any more."""
    content = read_text(edge.get("fact"))
    if not content:
        return Omission(LeftOut.EMPTY, label=read_title(edge.get("name")))
    return PastMemory(
        source_id=str(edge.get("uuid") or edge.get("uuid_") or name_source(content)),
        content=content,
        tags=tuple(filter(None, [read_tag(str(edge.get("name") or "").replace("_", " ").lower())])),
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
    left_out: Counter[LeftOut] = Counter()
    messages: list[PastMessage] = []
    for number, message in enumerate(map(as_object, as_list(session.get("messages")))):
        messages += _read_message(number, message, left_out)
    if not messages:
        yield Omission(LeftOut.EMPTY, label=title or str(name or ""))
        return
    yield PastConversation(
        source_id=str(name) if name else name_source(title, messages[0].content, str(messages[0].said_at)),
        title=title,
        messages=tuple(messages),
        started_at=read_time(session.get("created_at")) or messages[0].said_at,
        left_out=+left_out,
    )


def _read_message(number: int, message: Mapping[str, Any], left_out: Counter[LeftOut]) -> Iterator[PastMessage]:
    # `role` was a name of one's own choice, with `role_type`; now it is what `role_type` was.
    role = _ROLES.get(str(message.get("role_type") or message.get("role") or "").lower())
    content = read_text(message.get("content"))
    if role is None:
        tool = str(message.get("role_type") or message.get("role") or "").lower() in ("tool", "function")
        left_out[LeftOut.TOOL if tool else LeftOut.HIDDEN] += 1
    elif not content:
        left_out[LeftOut.EMPTY] += 1
    else:
        said_at = read_time(message.get("created_at") or message.get("timestamp"))
        known = message.get("uuid") or message.get("uuid_")
        source_id = str(known) if known else name_source(number, role, content)
        yield from make_messages(source_id=source_id, role=role, content=content, said_at=said_at)
