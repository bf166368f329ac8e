"""Reading stored responses. `user` comes first, and nothing of anybody else is ever returned."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from apps.accounts.models import User
from apps.accounts.selectors import get_settings
from apps.conversations.models import Message, MessageStatus, Role
from apps.conversations.types import RecordedMessage
from apps.gateway.models import StoredResponse
from apps.gateway.types import EarlierResponse

SAID = (Role.USER, Role.ASSISTANT)


@dataclass(frozen=True, slots=True)
class FoundResponse:
    """A response as it is kept: its own `calls`, or its `reply`, or neither where its turn has not ended well."""

    row: StoredResponse | None
    reply: Message | None
    asked: Message | None
    calls: Mapping[str, Any] | None


def find_response(user: User, response_id: uuid.UUID) -> FoundResponse | None:
    """Return the response of this ID; any stored reply of the assistant is one. None if there is none of the user."""
    row = StoredResponse.objects.filter(user=user, id=response_id).select_related("message").first()
    reply = Message.objects.filter(user=user, id=response_id, role=Role.ASSISTANT).select_related("reply_to").first()
    if row is None and reply is None:
        return None
    return FoundResponse(
        row=row,
        reply=reply,
        asked=row.message if row else reply.reply_to if reply else None,
        calls=get_own_calls(row) if row and reply is None else None,
    )


def find_earlier_response(user: User, response_id: uuid.UUID) -> EarlierResponse | None:
    """Return the response as a request continues it; None where there is none that has ended."""
    found = find_response(user, response_id)
    if found is None or (found.reply is None and found.calls is None):
        return None
    end = found.reply or found.asked
    assert end is not None, "a response without a reply has the message that it answers"
    rows = {row.id: row for row in _list_rows(user, end.session_id)}
    before = _list_before(user, found, end=end, rows=rows, limit=get_settings(user).context_limit)
    after = Message.objects.filter(user=user, session=end.session_id, position__gt=end.position, role__in=SAID)
    return EarlierResponse(
        id=response_id,
        session_id=end.session_id,
        asked=found.asked.content if found.asked else "",
        reply=found.reply.content if found.reply else None,
        exchange=tuple(_list_exchange(found.row, rows)),
        before=before,
        is_newest=end.status == MessageStatus.COMPLETE
        and not after.filter(status=MessageStatus.COMPLETE).exists()
        and not (found.reply is None and _has_reply(end)),
    )


def list_chat_messages(user: User, response_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, Mapping[str, Any]]:
    """Return what these responses said and called, as chat messages, as far as they are kept."""
    found: dict[uuid.UUID, Mapping[str, Any]] = {}
    for reply in Message.objects.filter(user=user, id__in=response_ids, role=Role.ASSISTANT):
        found[reply.id] = {"role": "assistant", "content": reply.content}
    for row in StoredResponse.objects.filter(user=user, id__in=response_ids):
        calls = get_own_calls(row)
        if row.id not in found and calls is not None:
            found[row.id] = calls
    return found


def get_own_calls(row: StoredResponse) -> Mapping[str, Any] | None:
    """Return the chat message in which the response calls tools, None where it does not."""
    last: Mapping[str, Any] = row.exchange[-1] if row.exchange else {}
    return last if last.get("tool_calls") else None


def _list_rows(user: User, session_id: uuid.UUID) -> list[StoredResponse]:
    return list(StoredResponse.objects.filter(user=user, message__session=session_id))


def _list_exchange(row: StoredResponse | None, rows: Mapping[uuid.UUID, StoredResponse]) -> list[Mapping[str, Any]]:
    """All that was called and answered for the message of a response, up to its own calls."""
    exchange: list[Mapping[str, Any]] = []
    at = row
    while at is not None and row is not None and at.message_id == row.message_id:
        exchange = [*at.exchange, *exchange]
        at = rows.get(at.previous) if at.previous else None
    return exchange


def _list_before(
    user: User, found: FoundResponse, *, end: Message, rows: Mapping[uuid.UUID, StoredResponse], limit: int
) -> tuple[RecordedMessage, ...]:
    """What was said up to a response, along the responses that it continues, and before the first of them.

    A response that continues none continues its session as it stands, without what was edited away.
    """
    replies = {
        reply.id: reply for reply in Message.objects.filter(user=user, session=end.session_id, id__in=rows.keys())
    }
    lines: list[Message] = [found.reply] if found.reply else []
    first, row = found.asked or end, found.row
    if found.reply and found.asked:
        lines.insert(0, found.asked)
    while row is not None and row.previous and len(lines) < limit:
        previous = rows.get(row.previous)
        if previous is None or previous.message_id != row.message_id:
            reply = (
                replies.get(row.previous)
                or Message.objects.filter(user=user, session=end.session_id, id=row.previous).first()
            )
            asked = previous.message if previous else reply.reply_to if reply else None
            said = [line for line in (asked, reply) if line is not None]
            if not said:
                break
            lines, first = [*said, *lines], said[0]
        row = previous
    # A response outside of any chain, or the first of one: what stands before it in the session.
    standing = Message.objects.filter(
        user=user, session=end.session_id, position__lt=first.position, role__in=SAID, status=MessageStatus.COMPLETE
    )
    missing = max(limit - len(lines), 0)
    lines = [*reversed(standing.order_by("-position")[:missing]), *lines]
    return tuple(RecordedMessage(role=line.role, content=line.content) for line in lines[-limit:])


def _has_reply(message: Message) -> bool:
    return Message.objects.filter(reply_to=message).exclude(status=MessageStatus.REPLACED).exists()
