"""What a request's messages are together with the response that it continues (T3). Pure."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.gateway.types import EarlierResponse

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """The chat messages of a request, and where they belong.

    `session_id`: None where the request continues no response. `from_store`: the stored conversation is the history,
    so that none is in the messages. `is_branch`: the messages are all of a conversation, which leaves its session's
    newest version.
    """

    messages: Sequence[Message]
    session_id: uuid.UUID | None = None
    from_store: bool = False
    is_branch: bool = False

    @property
    def after(self) -> Sequence[Message]:
        """The messages after the last one of the user: calls of tools and their results."""
        asked = max((at for at, line in enumerate(self.messages) if line["role"] == "user"), default=-1)
        return self.messages[asked + 1 :]


def continue_response(new: Sequence[Message], earlier: EarlierResponse | None, *, stored: bool) -> Place:
    """Return the messages of a request whose input is `new`.

    Where the earlier response is the newest of its session, what is stored continues, with the summary of what is
    older. Where it is not, or nothing is to be stored, the messages that led to it go with the request: the session
    then branches off there, as if a client had edited what followed.
    """
    if earlier is None:
        return Place(messages=new)
    asks = [line for line in new if line["role"] == "user"]
    from_store = earlier.is_newest and stored and len(asks) < 2 and not any(map(_is_said, new))
    waiting = [] if earlier.reply is not None or (from_store and asks) else [_make(role="user", text=earlier.asked)]
    before = [] if from_store else [_make(role=line.role, text=line.content) for line in earlier.before]
    return Place(
        messages=[*before, *waiting, *(earlier.exchange if earlier.reply is None else ()), *new],
        session_id=earlier.session_id,
        from_store=from_store,
        is_branch=not from_store,
    )


def _is_said(line: Message) -> bool:
    return line["role"] == "assistant" and bool(line.get("content"))


def _make(*, role: str, text: str) -> Message:
    return {"role": role, "content": text}
