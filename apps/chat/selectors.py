"""Read what a turn needs before it starts, what earlier turns were, and which memories carried weight in them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from apps.accounts.models import User
from apps.accounts.selectors import resolve_settings
from apps.accounts.spaces import seen_from
from apps.accounts.types import MemorySettings
from apps.chat.emotions import ReplyStrategy, StrategyTable
from apps.chat.models import Turn
from apps.connections.services import list_chat_models
from apps.conversations.models import MessageStatus
from apps.conversations.sessions import get_session
from apps.core.db import fetch_prepared
from apps.core.errors import NotFound
from apps.core.llm.client import get_environment_name

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
    seen = Turn.objects.filter(seen_from(user, "session__space"), user=user)
    turns = seen.select_related("user_message", "assistant_message")
    turn = turns.filter(assistant_message_id=message_id).first() or turns.filter(user_message_id=message_id).first()
    if turn is None:
        raise NotFound("There is no turn with this message.")
    return turn


# A prompt has room for more memories than bear on the message, so that none that does is missing. One carried weight if
# at least `PART` of what speaks for the best one of its kind speaks for it: for a long-term memory how well it matches
# the message, in words or in meaning, whichever is better; for an atomic one its score, which all its parts add up to.
# The two kinds are written differently and match differently, so a long-term memory needs only `LEAST` of the match of
# an atomic one. A past round weighs by its score, like an atomic memory. How long ago something was used or how sure it
# is says nothing about the message, and does not count. static/chat/weight.js says the same.
PART = 1 / 2
LEAST = 1 / 4
# What is ranked by a score that measures nothing but how much it has to do with the message.
SCORED = ("atomic", "message")


def list_influential(memories_used: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return those of a turn's `memories_used` that carried weight, in order.

    Without the ones that tools found, which have no figures; where nothing speaks for any, as in a prompt with all that
    is remembered, all of a kind weigh the same.
    """
    recalled = [item for item in memories_used if "by" not in item]
    matches = [_match(item) for item in recalled]
    best_match = max(matches, default=0.0)
    of_long_term = (match for item, match in zip(recalled, matches, strict=True) if item["kind"] not in SCORED)
    best_long_term = max(of_long_term, default=0.0)
    best = {kind: max((item["score"] for item in recalled if item["kind"] == kind), default=0.0) for kind in SCORED}

    def weighs(item: Mapping[str, Any], match: float) -> bool:
        if item["kind"] in SCORED:
            highest = best[item["kind"]]
            return bool(item["score"] >= highest - (1 - PART) * abs(highest))
        return match >= max(PART * best_long_term, LEAST * best_match)

    return [item for item, match in zip(recalled, matches, strict=True) if weighs(item, match)]


def _match(item: Mapping[str, Any]) -> float:
    """From 0 to 1. An atomic memory's words are scored by BM25, which has no upper bound: its meaning alone counts."""
    meaning = item.get("semantic_score", 0.0)
    return float(meaning if item["kind"] in SCORED else max(item.get("keyword_score", 0.0), meaning))
