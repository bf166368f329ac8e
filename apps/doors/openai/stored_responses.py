"""Keep responses of ``/v1/responses``, so that a later request can continue them (T3).

`user` comes first, and nothing of anybody else is ever returned.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from apps.accounts.models import User
from apps.accounts.selectors import get_settings
from apps.accounts.spaces import seen_from
from apps.chat.turn.open import open_client_turn
from apps.chat.turn.types import ClientRequest, OpenTurn
from apps.conversations.models import Message, MessageStatus, Role
from apps.conversations.rounds import fail_round
from apps.conversations.sessions import lock_session
from apps.conversations.types import RecordedMessage
from apps.doors.models import StoredResponse

# Keeping

_MAX_MODEL_CHARS = 200


@dataclass(frozen=True, slots=True)
class NewResponse:
    """A response that is about to be made. `after`: the chat messages that follow the user's in its request."""

    id: uuid.UUID
    previous: uuid.UUID | None
    after: Sequence[Mapping[str, Any]]
    model: str
    metadata: Mapping[str, str]


def open_response_turn(
    *, user: User, session_id: uuid.UUID | None, request: ClientRequest, response: NewResponse, now: datetime
) -> OpenTurn:
    """Open the turn of a response, as `open_client_turn` does, and keep the response, unless nothing is stored."""
    turn = open_client_turn(user=user, session_id=session_id, request=replace(request, reply_id=response.id), now=now)
    if turn.round is None:
        return turn
    try:
        with transaction.atomic():
            lock_session(user=user, session_id=turn.session_id)
            _create(user, response, message_id=turn.round.message_id, now=now)
    except Exception:
        fail_round(opened=turn.round)
        raise
    return turn


def add_calls(*, user: User, response_id: uuid.UUID, message: Mapping[str, Any]) -> None:
    """Add the chat message in which the model calls the client's tools; nothing if its conversation was deleted."""
    with transaction.atomic():
        rows = StoredResponse.objects.select_for_update().filter(user=user, id=response_id)
        for row in rows:
            row.exchange = [*row.exchange, dict(message)]
            row.save(update_fields=["exchange"])


def _create(user: User, response: NewResponse, *, message_id: uuid.UUID, now: datetime) -> None:
    """Keep the response with what no earlier one of the same message holds: clients send it all, round after round."""
    earlier = StoredResponse.objects.filter(user=user, message=message_id).order_by("-created_at").first()
    calls = _list_calls(earlier.exchange[-1]) if earlier and earlier.exchange else []
    added = list(response.after)
    continues = None
    for at in range(len(added) - 1, -1, -1):
        if calls and _list_calls(added[at]) == calls:
            added, continues = added[at + 1 :], earlier
            break
    StoredResponse.objects.create(
        id=response.id,
        user=user,
        message_id=message_id,
        previous=continues.id if continues else response.previous,
        exchange=[dict(line) for line in added],
        model=response.model[:_MAX_MODEL_CHARS],
        metadata=dict(response.metadata),
        created_at=now,
    )


def _list_calls(message: Mapping[str, Any]) -> list[str]:
    return [str(call["id"]) for call in message.get("tool_calls") or ()]


# Reading


@dataclass(frozen=True, slots=True)
class EarlierResponse:
    """A response that a request continues.

    `reply`: its text; None for one that called tools of the client, whose `asked` is the message of the user that
    still waits and whose `exchange` is all that was called and answered for it. `before`: what was said until then,
    oldest first, as far as the window reaches; with the reply, and without `asked`. `is_newest`: nothing was said
    after it, so that what is stored is what it continues.
    """

    session_id: uuid.UUID
    asked: str
    reply: str | None
    exchange: tuple[Mapping[str, Any], ...]
    before: tuple[RecordedMessage, ...]
    is_newest: bool


SAID = (Role.USER, Role.ASSISTANT)


@dataclass(frozen=True, slots=True)
class FoundResponse:
    """A response as it is kept: its own `calls`, or its `reply`, or neither where its turn has not ended well."""

    row: StoredResponse | None
    reply: Message | None
    asked: Message | None
    calls: Mapping[str, Any] | None


def _list_seen(user: User) -> QuerySet[StoredResponse]:
    return StoredResponse.objects.filter(seen_from(user, "message__session__space"), user=user)


def _list_replies(user: User) -> QuerySet[Message]:
    return Message.objects.filter(seen_from(user, "session__space"), user=user, role=Role.ASSISTANT)


def find_response(user: User, response_id: uuid.UUID) -> FoundResponse | None:
    """Return the response of this ID; any stored reply of the assistant is one. None if there is none of the user."""
    row = _list_seen(user).filter(id=response_id).select_related("message").first()
    reply = _list_replies(user).filter(id=response_id).select_related("reply_to").first()
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
    rows = {row.id: row for row in StoredResponse.objects.filter(user=user, message__session=end.session_id)}
    before = _list_before(user, found, end=end, rows=rows, limit=get_settings(user).context_limit)
    after = Message.objects.filter(user=user, session=end.session_id, position__gt=end.position, role__in=SAID)
    return EarlierResponse(
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
    for reply in _list_replies(user).filter(id__in=response_ids):
        found[reply.id] = {"role": "assistant", "content": reply.content}
    for row in _list_seen(user).filter(id__in=response_ids):
        calls = get_own_calls(row)
        if row.id not in found and calls is not None:
            found[row.id] = calls
    return found


def get_own_calls(row: StoredResponse) -> Mapping[str, Any] | None:
    """Return the chat message in which the response calls tools, None where it does not."""
    last: Mapping[str, Any] = row.exchange[-1] if row.exchange else {}
    return last if last.get("tool_calls") else None


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


# Continuing

ChatMessage = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """The chat messages of a request, and where they belong.

    `session_id`: None where the request continues no response. `from_store`: the stored conversation is the history,
    so that none is in the messages. `is_branch`: the messages are all of a conversation, which leaves its session's
    newest version.
    """

    messages: Sequence[ChatMessage]
    session_id: uuid.UUID | None = None
    from_store: bool = False
    is_branch: bool = False

    @property
    def after(self) -> Sequence[ChatMessage]:
        """The messages after the last one of the user: calls of tools and their results."""
        asked = max((at for at, line in enumerate(self.messages) if line["role"] == "user"), default=-1)
        return self.messages[asked + 1 :]


def continue_response(new: Sequence[ChatMessage], earlier: EarlierResponse | None, *, stored: bool) -> Place:
    """Return the messages of a request whose input is `new`.

    Where the earlier response is the newest of its session, what is stored continues, with the summary of what is
    older. Where it is not, or nothing is to be stored, the messages that led to it go with the request: the session
    then branches off there, as if a client had edited what followed.
    """
    if earlier is None:
        return Place(messages=new)
    asks = [line for line in new if line["role"] == "user"]
    replies = [line for line in new if line["role"] == "assistant" and line.get("content")]
    from_store = earlier.is_newest and stored and len(asks) < 2 and not replies
    waits = earlier.reply is None and not (from_store and asks)
    waiting: list[ChatMessage] = [{"role": "user", "content": earlier.asked}] if waits else []
    before = [] if from_store else [{"role": line.role, "content": line.content} for line in earlier.before]
    return Place(
        messages=[*before, *waiting, *(earlier.exchange if earlier.reply is None else ()), *new],
        session_id=earlier.session_id,
        from_store=from_store,
        is_branch=not from_store,
    )
