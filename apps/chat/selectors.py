"""Reading what a turn needs to know before it starts, and what earlier turns were."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass

from django.db.models import QuerySet

from apps.accounts.models import User
from apps.accounts.selectors import resolve_settings
from apps.accounts.types import MemorySettings
from apps.chat.models import Turn
from apps.chat.types import ReplyStrategy, StrategyTable
from apps.chat.weight import list_weighty
from apps.connections.selectors import list_chat_models
from apps.conversations.models import MessageStatus
from apps.conversations.sessions import get_session
from apps.core.db import fetch_prepared
from apps.core.errors import NotFound
from apps.core.llm.client import get_environment_name

__all__ = ["CONFIGURATION", "get_turn", "get_turn_configuration", "list_turn_figures", "list_weighty"]

# Written by hand: the ORM takes 2 ms to compose this union, PostgreSQL a tenth of one to answer it.
CONFIGURATION = """
SELECT kind, key, value
FROM (
    SELECT 'setting' AS kind, key, value, user_id IS NOT NULL AS own
    FROM accounts_setting WHERE user_id IS NULL OR user_id = %(user)s
    UNION ALL
    SELECT 'strategy', emotion, to_jsonb(reply_strategy), FALSE
    FROM reply_strategy
) AS configuration
ORDER BY own, key
"""


def get_turn_configuration(user: User) -> tuple[MemorySettings, StrategyTable]:
    """Return the user's effective settings (G1) and the strategy table (E2), with one query between them."""
    found = fetch_prepared(CONFIGURATION, {"user": user.pk})
    rows = [(kind, key, json.loads(value)) for kind, key, value in found]
    table = {key: ReplyStrategy(**value) for kind, key, value in rows if kind == "strategy"}
    return resolve_settings((key, value) for kind, key, value in rows if kind != "strategy"), table


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A chat model that one may choose for a session. `server`: where it is connected; "" for the environment's."""

    name: str
    server: str
    default: bool


def list_models() -> list[ModelChoice]:
    """Return the chat models there are: the default one first, the others by name. One query."""
    connected = [ModelChoice(row.name, row.server.name, row.is_default) for row in list_chat_models()]
    here = get_environment_name()
    if all(choice.name != here for choice in connected):
        connected.append(ModelChoice(here, "", default=not any(choice.default for choice in connected)))
    return sorted(connected, key=lambda choice: (not choice.default, choice.name))


def list_turn_figures(user: User, session_id: uuid.UUID) -> QuerySet[Turn]:
    """The turns of a session whose reply is part of the conversation, newest first, with what is counted of them.

    Raises `NotFound` without the session.
    """
    get_session(user, session_id)
    turns = Turn.objects.filter(user=user, session=session_id, assistant_message__status=MessageStatus.COMPLETE)
    return turns.only("assistant_message_id", "memories_used", "memory_updates").order_by(
        "-assistant_message__position"
    )


def get_turn(user: User, message_id: uuid.UUID) -> Turn:
    """Return the turn that a message, the user's or the reply, belongs to, or raise `NotFound`."""
    turns = Turn.objects.filter(user=user).select_related("user_message", "assistant_message")
    turn = turns.filter(assistant_message_id=message_id).first() or turns.filter(user_message_id=message_id).first()
    if turn is None:
        raise NotFound("There is no turn with this message.")
    return turn
