"""What a run has claimed of the queue, and whose fault it is that work came to nothing."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from apps.accounts.models import User


EXTRACTED_CHARACTERS = 12_000
"""Of messages that share one extraction call, at most: a prompt has to hold them."""


@dataclass(frozen=True, slots=True)
class ClaimedWork:
    """A claimed row. `data_epoch` is its owner's at that time: work on what was erased meanwhile is not taken (R3).

    `trace`: the span that left it, "" where nothing is traced.
    """

    id: int
    user_id: int
    data_epoch: int
    session_id: uuid.UUID
    message_id: uuid.UUID
    recorded: bool
    trace: str = ""


class Blame(StrEnum):
    """Whose fault it is that work came to nothing: it decides how long it is tried again."""

    SERVER = "server"  # the model server is away or refuses everybody: no attempt of the work's
    UNSURE = "unsure"  # it may be this work that it chokes on: from now on alone, and patiently
    WORK = "work"  # the same again is likely: a few attempts


class ClaimLost(Exception):
    """Some of the work is not this run's any more: deleted, erased, or claimed by another after the lease ran out."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Work of one kind that the run `token` has claimed, in the order in which it was left; never empty."""

    token: str
    work: tuple[ClaimedWork, ...]

    @property
    def message_ids(self) -> list[uuid.UUID]:
        """The messages it is about."""
        return [item.message_id for item in self.work]

    @property
    def recorded(self) -> bool:
        """Whether any of it was recorded without a turn."""
        return any(item.recorded for item in self.work)

    def only(self, message_ids: Collection[uuid.UUID]) -> Self:
        """Return the part of the claim that is about these messages."""
        return replace(self, work=tuple(item for item in self.work if item.message_id in message_ids))


@dataclass(frozen=True, slots=True)
class SessionClaim(Claim):
    """Work on messages of one session, which is `user`'s."""

    user: User

    @property
    def session_id(self) -> uuid.UUID:
        return self.work[0].session_id
