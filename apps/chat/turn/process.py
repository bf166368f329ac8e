"""The turns of this process: known to the next one should it be killed (C6), and to be stopped from every other.

Each process has a file, locked for as long as it lives: the kernel gives the lock back however it ends. Once it is
free, nobody answers what the file names. On another machine, or without a disk to write to, the leases of the messages
run out instead.

A turn is stopped in whichever process it runs. Another process leaves a mark in the shared cache, at which every
process with turns under way looks twice a second. Without the cache, a turn of another process runs to its end.
"""

from __future__ import annotations

import asyncio
import atexit
import fcntl
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Final, Protocol

import structlog
from django.conf import settings
from django.core.cache import cache

from apps.conversations.rounds import fail_rounds
from apps.conversations.types import OpenRound
from apps.core.db import in_database

logger = structlog.get_logger(__name__)
# How often failing what was left is tried while the database is away.
SECONDS_BETWEEN_ATTEMPTS = 2.0
# A message, and the number of the attempt to answer it.
Entry = tuple[uuid.UUID, int]


class Journal:
    """The open turns of one process, in a file of their own in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: set[Entry] = set()
        self._file: IO[str] | None = None

    def add(self, opened: OpenRound) -> None:
        """Note that this process answers the message."""
        self._open.add((opened.message_id, opened.attempt))
        self._write()

    def remove(self, opened: OpenRound) -> None:
        """Note that the message has its outcome."""
        self._open.discard((opened.message_id, opened.attempt))
        self._write()

    def close(self) -> None:
        """Leave the file to the next process, or nothing where no turn is open."""
        if self._file is not None:
            if not self._open:
                Path(self._file.name).with_name(Path(self._file.name).name[1:]).unlink(missing_ok=True)
            self._file.close()
            self._file = None

    def _write(self) -> None:
        try:
            file = self._file = self._file or _create(self._folder)
            file.seek(0)
            file.write("".join(f"{message_id} {attempt}\n" for message_id, attempt in self._open))
            file.truncate()  # after what was written: whoever kills us in between leaves too much and never too little
            file.flush()
        except OSError as error:
            logger.warning("turn.not_noted", exc_info=error)


def _create(folder: Path) -> IO[str]:
    folder.mkdir(parents=True, exist_ok=True)
    hidden = folder / f".{uuid.uuid4()}"
    file = hidden.open("w", encoding="ascii")
    fcntl.flock(file, fcntl.LOCK_EX)
    hidden.rename(folder / hidden.name[1:])  # only now may others look at it
    return file


def fail_left_turns(folder: Path | None = None) -> int:
    """Mark as failed what dead processes have left open; returns how many messages. Runs in a database thread."""
    count = 0
    for path in (folder or get_folder()).glob("[!.]*"):
        try:
            with path.open(encoding="ascii", errors="replace") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                count += fail_rounds(_read_entries(file))
                path.unlink(missing_ok=True)
        except BlockingIOError:  # its process lives
            continue
        except OSError as error:
            logger.warning("turn.journal_unreadable", exc_info=error)
    return count


def _read_entries(file: IO[str]) -> list[Entry]:
    entries: list[Entry] = []
    for line in file:
        message_id, _, attempt = line.strip().partition(" ")
        try:
            entries.append((uuid.UUID(message_id), int(attempt)))
        except ValueError:  # the process was killed while it wrote this line
            continue
    return entries


async def fail_left_turns_soon() -> None:
    """Fail what a predecessor has left, as soon as the database answers."""
    while True:
        try:
            if count := await in_database(fail_left_turns):
                logger.info("turn.left_failed", count=count)
            return
        except Exception as error:  # whatever it is, it must not keep the process from answering
            logger.warning("turn.left_not_failed", exc_info=error)
        await asyncio.sleep(SECONDS_BETWEEN_ATTEMPTS)


def get_folder() -> Path:
    return Path(settings.DATA_DIR) / "turns"


journal = Journal(get_folder())
atexit.register(journal.close)


# So that a stop takes less than a second, wherever it arrives.
SECONDS_BETWEEN_LOOKS: Final = 0.4
# The same message may be answered again soon, and that turn is not to be stopped by what was meant for this one.
MARK_KEPT_SECONDS: Final = 5.0


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
