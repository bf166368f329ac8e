"""Stopping a reply while it is written: in whichever process its turn runs.

The turn of a message is known to the process that runs it. Another process leaves a mark in the shared cache, at which
every process with turns under way looks twice a second. Without the cache, a turn of another process runs to its end.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterable
from typing import Final, Protocol

import structlog
from django.core.cache import cache

from apps.core.db import in_database

logger = structlog.get_logger(__name__)

SECONDS_BETWEEN_LOOKS: Final = 0.4
"""So that a stop takes less than a second, wherever it arrives."""

MARK_KEPT_SECONDS: Final = 5.0
"""The same message may be answered again soon, and that turn is not to be stopped by what was meant for this one."""


class Stoppable(Protocol):
    """A turn under way."""

    def stop(self) -> None:
        """End the model's answer here."""


_turns: dict[uuid.UUID, Stoppable] = {}  # by the message they answer
_looking: set[asyncio.Task[None]] = set()


def add_stoppable(message_id: uuid.UUID, turn: Stoppable) -> None:
    """From now until `remove_stoppable`, this turn can be stopped from every process."""
    _turns[message_id] = turn
    if not any(task.get_loop() is asyncio.get_running_loop() for task in _looking):
        task = asyncio.get_running_loop().create_task(_look_for_marks())
        _looking.add(task)
        task.add_done_callback(_looking.discard)


def remove_stoppable(message_id: uuid.UUID, turn: Stoppable) -> None:
    """The turn is over; another one of the same message stays."""
    if _turns.get(message_id) is turn:
        del _turns[message_id]


async def stop_turn(message_id: uuid.UUID) -> None:
    """Have the turn that answers this message end here, if there is one. What has come of the reply is kept (C6)."""
    turn = _turns.get(message_id)
    if turn is not None:
        turn.stop()
        return
    try:
        await in_database(cache.set, _mark(message_id), "1", MARK_KEPT_SECONDS)
    except Exception as error:  # whatever the cache raises: nothing is lost, the reply goes on
        logger.warning("turn.not_stopped", message_id=str(message_id), cause=type(error).__name__)


async def _look_for_marks() -> None:
    while _turns:
        await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
        try:
            marked = await in_database(_take_marks, list(_turns))
        except Exception as error:  # as above
            logger.warning("stops_not_seen", cause=type(error).__name__)
            continue
        for message_id in marked:
            if turn := _turns.get(message_id):
                turn.stop()


def _take_marks(message_ids: Iterable[uuid.UUID]) -> list[uuid.UUID]:
    """Return which of these messages are marked, and remove their marks."""
    keys = {_mark(message_id): message_id for message_id in message_ids}
    found = list(cache.get_many(keys))
    if found:
        cache.delete_many(found)
    return [keys[key] for key in found]


def _mark(message_id: uuid.UUID) -> str:
    return f"stop.{message_id}"
