"""Reading what a turn needs to know before it starts, and what earlier turns were."""

from __future__ import annotations

import uuid
from dataclasses import fields
from typing import Any

from django.db.models import BigIntegerField, F, JSONField, Value
from django.db.models.functions import Cast, JSONObject

from apps.accounts.models import User
from apps.accounts.selectors import resolve_settings, setting_rows
from apps.accounts.types import MemorySettings
from apps.chat.emotions import ReplyStrategy, StrategyTable
from apps.chat.models import Strategy, Turn
from apps.core.errors import NotFound

_STRATEGY_FIELDS = tuple(field.name for field in fields(ReplyStrategy))


def get_turn_configuration(user: User) -> tuple[MemorySettings, StrategyTable]:
    """Return the user's effective settings (G1) and the strategy table (E2), with one query between them."""
    settings = setting_rows(user).order_by().values_list("user_id", "key", "value")
    strategies = Strategy.objects.order_by().values_list(
        Value(None, BigIntegerField()),
        "emotion",
        Cast(JSONObject(**{name: F(name) for name in _STRATEGY_FIELDS}), JSONField()),
    )
    rows: list[tuple[int | None, str, Any]] = list(settings.union(strategies, all=True))
    table = {key: ReplyStrategy(**value) for _user, key, value in rows if not key.startswith("memory.")}
    stored = sorted((row for row in rows if row[1].startswith("memory.")), key=lambda row: row[0] is not None)
    return resolve_settings((key, value) for _user, key, value in stored), table


def get_turn(user: User, message_id: uuid.UUID) -> Turn:
    """Return the turn that a message, the user's or the reply, belongs to, or raise `NotFound`."""
    turns = Turn.objects.filter(user=user).select_related("user_message", "assistant_message")
    turn = turns.filter(assistant_message_id=message_id).first() or turns.filter(user_message_id=message_id).first()
    if turn is None:
        raise NotFound("There is no turn with this message.")
    return turn
