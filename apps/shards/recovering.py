"""Ending moves that somebody died over: what the directory has decided is done everywhere, all else taken back."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

import structlog
from django.conf import settings
from psycopg import sql

from apps.shards.moving import PREFIX, lock_name
from apps.shards.servers import DIRECTORY, Server, connect

logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Ended:
    """A transaction that a server had prepared for a move, and whether it was committed."""

    server: str
    move: UUID
    committed: bool


def finish_moves() -> list[Ended]:
    """End what was prepared for moves that are not under way any more; returns what that was.

    A move that lives holds a lock at the directory. Once that is free, its transaction there has ended, too.
    """
    ended: list[Ended] = []
    for name in settings.SHARDS:
        with connect(DIRECTORY, name) as (directory, shard):
            ended += [each for gid in _list_prepared(shard) if (each := _end(gid, directory, shard))]
    return ended


def _list_prepared(shard: Server) -> list[str]:
    statement = "SELECT gid FROM pg_prepared_xacts WHERE database = current_database() AND starts_with(gid, %s)"
    return [gid for (gid,) in shard.fetch(statement, [PREFIX])]


def _end(gid: str, directory: Server, shard: Server) -> Ended | None:
    move = UUID(gid.removeprefix(PREFIX).partition(":")[0])
    key = [lock_name(move)]
    if not directory.fetch_one("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", key):
        return None
    try:
        person = directory.fetch_one("SELECT user_id FROM person_move WHERE id = %s", [move])
        verb = "COMMIT" if person is not None else "ROLLBACK"
        shard.execute(sql.SQL("{} PREPARED {}").format(sql.SQL(verb), sql.Literal(gid)))
        if person is not None:
            directory.execute("UPDATE accounts_user SET moving_until = NULL WHERE id = %s", [person])
    finally:
        directory.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", key)
    logger.warning("move.ended", shard=shard.name, move=str(move), committed=person is not None)
    return Ended(shard.name, move, person is not None)
