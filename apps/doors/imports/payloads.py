"""Turn items of a file into rows that wait to be imported, and back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from pydantic import TypeAdapter

from apps.conversations.types import RecordedMessage
from apps.doors.imports.types import Item, Omission, PastConversation, PastMemory, PastProfile
from apps.doors.models import ImportItem, PastImport
from apps.memory.transfer import ForeignMemory

# Messages of a conversation that are imported in one transaction.
MESSAGES_TOGETHER = 500

# IDs follow from the person, the format and the ID at the source, so that nothing is imported twice.
NAMESPACE = UUID("7a3c1b52-5d0e-4c7b-9a5e-0d1f6b2c8e41")

_CONVERSATION, _MEMORY, _PROFILE = TypeAdapter(PastConversation), TypeAdapter(PastMemory), TypeAdapter(PastProfile)


def make_items(past_import: PastImport, item: Item, *, first: int) -> Iterator[ImportItem]:
    """Yield the rows of an item, numbered from `first`; a long conversation is several."""
    kind = ImportItem.Kind
    match item:
        case PastConversation():
            for number, start in enumerate(range(0, len(item.messages), MESSAGES_TOGETHER), first):
                part = replace(item, messages=item.messages[start : start + MESSAGES_TOGETHER])
                payload = _CONVERSATION.dump_python(part, mode="json")
                yield _make(past_import, number, kind.CONVERSATION, item.title, payload)
        case PastMemory():
            label = item.content or f"{item.key}: {item.value}"
            yield _make(past_import, first, kind.MEMORY, label, _MEMORY.dump_python(item, mode="json"))
        case PastProfile():
            yield _make(past_import, first, kind.OTHER, item.text, _PROFILE.dump_python(item, mode="json"))
        case Omission():
            row = _make(past_import, first, kind.OTHER, item.label, None)
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


def read_conversation(item: ImportItem) -> tuple[UUID, PastConversation]:
    """Return a conversation, or a part of one, and the ID of the session that it becomes."""
    found = _CONVERSATION.validate_python(item.payload)
    return _name(item, "conversation", found.source_id), found


def list_messages(session_id: UUID, found: PastConversation, *, otherwise: datetime) -> list[RecordedMessage]:
    """Return the messages of a conversation; one without a time was said when the one before it was.

    `otherwise`: the time where none is known at all. What comes twice is taken once.
    """
    said_at = found.started_at or otherwise
    messages: dict[UUID, RecordedMessage] = {}
    for one in found.messages:
        said_at = one.said_at or said_at
        message_id = uuid5(session_id, one.source_id)
        files = tuple((file.name, file.text) for file in one.files)
        message = RecordedMessage(role=one.role, content=one.content, create_time=said_at, id=message_id, files=files)
        messages.setdefault(message_id, message)
    return list(messages.values())


def read_profile(item: ImportItem) -> tuple[UUID, PastProfile]:
    """Return a text for the profile, and the ID of the proposal that it becomes."""
    found = _PROFILE.validate_python(item.payload)
    return _name(item, "profile", f"{found.section}\n{found.text}"), found


def read_memory(item: ImportItem, *, now: datetime) -> ForeignMemory:
    """Return a memory as it is taken in; one that was true until some time in the past has ended."""
    found = _MEMORY.validate_python(item.payload)
    return ForeignMemory(
        id=_name(item, "memory", found.source_id),
        content=found.content,
        key=found.key,
        value=found.value,
        category=found.category,
        tags=list(found.tags),
        said_at=found.said_at,
        event_start=found.started_at,
        event_end=found.ended_at,
        ended=found.ended or (found.ended_at is not None and found.ended_at <= now),
        muted=found.muted,
    )


def _name(item: ImportItem, kind: str, source_id: str) -> UUID:
    return uuid5(NAMESPACE, "\n".join([str(item.user_id), item.past_import.format, kind, source_id]))
