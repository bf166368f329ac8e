"""The open turns of this process, known to the next one should it be killed (C6).

Each process has a file, locked for as long as it lives: the kernel gives the lock back however it ends. Once it is
free, nobody answers what the file names. On another machine, or without a disk to write to, the leases of the messages
run out instead.
"""

from __future__ import annotations

import asyncio
import atexit
import fcntl
import uuid
from pathlib import Path
from typing import IO

import structlog
from django.conf import settings

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
