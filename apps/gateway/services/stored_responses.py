"""Responses of ``/v1/responses``: kept, so that a later request can continue them (T3)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import transaction

from apps.accounts.models import User
from apps.chat.turn.open import open_client_turn
from apps.chat.turn.types import ClientRequest, OpenTurn
from apps.conversations.rounds import fail_round
from apps.conversations.sessions import lock_session
from apps.gateway.models import StoredResponse

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
