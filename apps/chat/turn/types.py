"""The events of a turn, and what is known of it between its two halves."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.accounts.models import User
from apps.chat.context.read import TurnInput
from apps.chat.context.types import Context
from apps.chat.emotions import ReplyStrategy
from apps.conversations.histories import ClientHistory
from apps.conversations.types import OpenRound
from apps.core.errors import JiyiError
from apps.core.llm.client import ChosenModel
from apps.costs.ledger import Owner
from apps.memory.commands import CommandResult


@dataclass(frozen=True, slots=True)
class Started:
    """The user's message is stored; `user_message` is it on the wire, None when a form was sent instead."""

    user_message: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of the reply. All of them joined are the stored reply (C6)."""

    text: str


@dataclass(frozen=True, slots=True)
class Relayed:
    """A chunk of the model's answer, or the whole completion, as its server sent it (T3)."""

    event: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Done:
    """The reply is stored; `result` is the turn on the wire."""

    result: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Failed:
    """No reply was stored; the user's message is kept as `failed`."""

    error: JiyiError


TurnEvent = Started | Delta | Relayed | Done | Failed


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """A turn as a client of the OpenAI-compatible endpoint asks for it (T3).

    `given`: its conversation. `instructions`: its system messages. `model`: "" for the configured one. `options`:
    parameters of the call that are sent on as they are. `stop` and `max_tokens` end the reply. `relayed`: the whole
    request, where the answer is to go back unchanged. `stored` False: nothing is stored, nothing is learned.
    `paused`: nothing is learned (D5).
    `reply_id`: of the stored reply, for a client that is told before there is one.
    """

    given: ClientHistory
    instructions: str = ""
    model: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    stop: Sequence[str] = ()
    max_tokens: int | None = None
    relayed: Mapping[str, Any] | None = None
    stored: bool = True
    paused: bool = False
    reply_id: uuid.UUID | None = None


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """A turn whose message is stored and whose prompt is ready: all that is needed without the database.

    `given`: what it was opened with. `round` is None for the reply to a form (H1). `chosen`: the model that answers.
    `remembers`: whether what the model learned may be stored (not in a temporary session, C7, nor while remembering is
    paused, D5). `opening`: the
    milliseconds that opening took, by phase. `commands`: what the message told the memory to do, and what was done
    (L9). `reply`: the reply, where the turn composed it itself and asks no model. `client`: what an OpenAI client asked
    for besides (T3).
    """

    given: TurnInput
    round: OpenRound | None
    context: Context
    chosen: ChosenModel
    remembers: bool
    opening: Mapping[str, float]
    commands: Sequence[CommandResult] = ()
    reply: str | None = None
    client: ClientRequest | None = None

    @property
    def user(self) -> User:
        return self.given.user

    @property
    def owner(self) -> Owner:
        """Whom the ledger of calls has it for."""
        return self.user.pk, self.user.data_epoch

    @property
    def session_id(self) -> uuid.UUID:
        return self.given.session_id

    @property
    def relayed(self) -> Mapping[str, Any] | None:
        """The client's request, where its answer is passed on unchanged (T3)."""
        return self.client.relayed if self.client else None

    @property
    def strategy(self) -> ReplyStrategy | None:
        """How the model is told to reply; None for plain chat (E6), and where the client's request is passed on."""
        return None if self.relayed is not None else self.given.strategy
