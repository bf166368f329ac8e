"""Plain values of the further doors."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.conversations.types import RecordedMessage


@dataclass(frozen=True, slots=True)
class EarlierResponse:
    """A response that a request continues.

    `reply`: its text; None for one that called tools of the client, whose `asked` is the message of the user that
    still waits and whose `exchange` is all that was called and answered for it. `before`: what was said until then,
    oldest first, as far as the window reaches; with the reply, and without `asked`. `is_newest`: nothing was said
    after it, so that what is stored is what it continues.
    """

    id: uuid.UUID
    session_id: uuid.UUID
    asked: str
    reply: str | None
    exchange: tuple[Mapping[str, Any], ...]
    before: tuple[RecordedMessage, ...]
    is_newest: bool
