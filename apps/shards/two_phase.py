"""How transactions end that servers have prepared for a move: the directory's own transaction of it decides.

Whoever moves a person holds a lock at the directory, as long as they live. Whoever gets that lock later may end what
they left: by then their transaction at the directory has ended, and `person_move` tells how.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

import structlog
from psycopg import sql

from apps.shards.servers import Server

logger = structlog.get_logger(__name__)

_PREFIX = "jiyi_move"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A transaction that a server has prepared: the move that it is for, and of whom."""

    move: UUID
    user_id: int

    @property
    def name(self) -> str:
        return f"{_PREFIX}:{self.move}:{self.user_id}"


@contextmanager
def hold_person(directory: Server, user_id: int) -> Iterator[bool]:
    """Hold the lock of whoever moves a person; False if somebody else has it."""
    key = [f"{_PREFIX}:{user_id}"]
    held = bool(directory.fetch_one("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", key))
    try:
        yield held
    finally:
        if held and not directory.connection.broken:
            directory.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", key)


def list_prepared(shard: Server) -> list[Prepared]:
    """Return what is prepared on a server, the oldest first."""
    statement = (
        "SELECT split_part(gid, ':', 2)::uuid, split_part(gid, ':', 3)::bigint FROM pg_prepared_xacts"
        " WHERE database = current_database() AND starts_with(gid, %s) ORDER BY prepared"
    )
    return [Prepared(*row) for row in shard.fetch(statement, [f"{_PREFIX}:"])]


def prepare(prepared: Prepared, server: Server) -> None:
    """Prepare the server's open transaction: from here on it survives everything, and waits."""
    server.execute(sql.SQL("PREPARE TRANSACTION {}").format(sql.Literal(prepared.name)))


def is_decided(move: UUID, directory: Server) -> bool:
    """Whether the directory has committed its transaction of the move."""
    return bool(directory.fetch_one("SELECT EXISTS (SELECT FROM person_move WHERE id = %s)", [move]))


def end(prepared: Prepared, server: Server, *, commit: bool) -> None:
    """Commit what was prepared, or roll it back."""
    verb = sql.SQL("COMMIT" if commit else "ROLLBACK")
    server.execute(sql.SQL("{} PREPARED {}").format(verb, sql.Literal(prepared.name)))
    logger.info("move.ended", shard=server.name, user_id=prepared.user_id, committed=commit)


def end_left(server: Server, directory: Server, *, user_id: int) -> list[bool]:
    """End what was left of moves of a person, whose lock is held; returns whether each was committed."""
    left = [prepared for prepared in list_prepared(server) if prepared.user_id == user_id]
    decided = [is_decided(prepared.move, directory) for prepared in left]
    for prepared, commit in zip(left, decided, strict=True):
        end(prepared, server, commit=commit)
    return decided
