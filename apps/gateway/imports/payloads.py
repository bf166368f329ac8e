"""Items of a file as rows that wait to be imported, and back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from apps.conversations.types import RecordedMessage
from apps.gateway.imports.types import Item, Omission, PastConversation, PastMemory, PastMessage, PastProfile
from apps.gateway.models import ImportItem, PastImport
from apps.memory.services import ForeignMemory

MESSAGES_TOGETHER = 500
"""Messages of a conversation that are imported in one transaction."""

NAMESPACE = UUID("7a3c1b52-5d0e-4c7b-9a5e-0d1f6b2c8e41")
"""IDs follow from the person, the format and the ID at the source, so that nothing is imported twice."""


def make_items(past_import: PastImport, item: Item, *, first: int) -> Iterator[ImportItem]:
    """Yield the rows of an item, numbered from `first`; a long conversation is several."""
    match item:
        case PastConversation():
            for number, start in enumerate(range(0, len(item.messages), MESSAGES_TOGETHER), first):
                part = item.messages[start : start + MESSAGES_TOGETHER]
                yield _make(past_import, number, ImportItem.Kind.CONVERSATION, item.title, _pack(item, part))
        case PastMemory():
            label = item.content or f"{item.key}: {item.value}"
            yield _make(past_import, first, ImportItem.Kind.MEMORY, label, _pack_memory(item))
        case PastProfile():
            payload = {"section": item.section, "text": item.text}
            yield _make(past_import, first, ImportItem.Kind.OTHER, item.text, payload)
        case Omission():
            row = _make(past_import, first, ImportItem.Kind.OTHER, item.label, None)
            row.state, row.reason, row.detail = ImportItem.State.SKIPPED, str(item.reason), item.detail[:300]
            row.count = item.count
            yield row


def _make(past_import: PastImport, number: int, kind: ImportItem.Kind, label: str, payload: Any) -> ImportItem:
    return ImportItem(
        past_import=past_import,
        user_id=past_import.user_id,
        number=number,
        kind=kind,
        label=label[:200],
        payload=payload,
    )


def _pack(item: PastConversation, messages: tuple[PastMessage, ...]) -> dict[str, Any]:
    return {
        "source_id": item.source_id,
        "title": item.title,
        "started_at": _write_time(item.started_at),
        "learns": item.learns,
        "messages": [
            [message.source_id, message.role, message.content, _write_time(message.said_at)] for message in messages
        ],
        "files": {
            message.source_id: [[file.name, file.text] for file in message.files]
            for message in messages
            if message.files
        },
    }


def _pack_memory(item: PastMemory) -> dict[str, Any]:
    return {
        "source_id": item.source_id,
        "content": item.content,
        "key": item.key,
        "value": item.value,
        "category": item.category,
        "tags": list(item.tags),
        "said_at": _write_time(item.said_at),
        "started_at": _write_time(item.started_at),
        "ended_at": _write_time(item.ended_at),
        "ended": item.ended,
        "muted": item.muted,
    }


def get_proposal_id(item: ImportItem) -> UUID:
    """Return the ID of the proposal for the profile that an item becomes."""
    payload = item.payload or {}
    return _name(item.past_import, "profile", f"{payload['section']}\n{payload['text']}")


def get_session_id(past_import: PastImport, source_id: str) -> UUID:
    """Return the ID of the session that a conversation becomes."""
    return _name(past_import, "conversation", source_id)


def read_messages(session_id: UUID, payload: dict[str, Any], *, otherwise: datetime) -> list[RecordedMessage]:
    """Return the messages of a conversation; one without a time was said when the one before it was.

    `otherwise`: the time where none is known at all. What comes twice is taken once.
    """
    said_at = _read_time(payload["started_at"]) or otherwise
    messages: dict[UUID, RecordedMessage] = {}
    for source_id, role, content, time in payload["messages"]:
        said_at = _read_time(time) or said_at
        message_id = uuid5(session_id, source_id)
        files = tuple((name, text) for name, text in payload.get("files", {}).get(source_id, ()))
        message = RecordedMessage(role=role, content=content, create_time=said_at, id=message_id, files=files)
        messages.setdefault(message_id, message)
    return list(messages.values())


def read_started_at(payload: dict[str, Any], *, otherwise: datetime) -> datetime:
    """Return when a conversation began."""
    return _read_time(payload["started_at"]) or otherwise


def read_memory(past_import: PastImport, payload: dict[str, Any], *, now: datetime) -> ForeignMemory:
    """Return a memory as it is taken in; one that was true until some time in the past has ended."""
    ended_at = _read_time(payload["ended_at"])
    return ForeignMemory(
        id=_name(past_import, "memory", payload["source_id"]),
        content=payload["content"],
        key=payload["key"],
        value=payload["value"],
        category=payload["category"],
        tags=payload["tags"],
        said_at=_read_time(payload["said_at"]),
        event_start=_read_time(payload["started_at"]),
        event_end=ended_at,
        ended=payload["ended"] or (ended_at is not None and ended_at <= now),
        muted=payload["muted"],
    )


def _name(past_import: PastImport, kind: str, source_id: str) -> UUID:
    return uuid5(NAMESPACE, "\n".join([str(past_import.user_id), past_import.format, kind, source_id]))


def _write_time(time: datetime | None) -> str | None:
    return time.isoformat() if time else None


def _read_time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
