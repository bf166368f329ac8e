"""Who is where, for those who run the servers."""

from __future__ import annotations

from dataclasses import dataclass

import psycopg
from django.conf import settings
from psycopg import sql

from apps.shards.rows import read_tables
from apps.shards.servers import DIRECTORY, Server, connect


@dataclass(frozen=True, slots=True)
class ServerState:
    """A server as the directory and it itself see it. `answers`: whether it can be asked; else the rest is zero.

    `people` are placed there; `strays` have rows there and are placed elsewhere; `prepared` moves wait to be ended.
    """

    name: str
    answers: bool
    people: int
    strays: tuple[int, ...] = ()
    prepared: int = 0


def describe_servers() -> list[ServerState]:
    """Return every server, the directory first."""
    with connect(DIRECTORY) as (directory,):
        statement = "SELECT shard, count(*) FROM accounts_user GROUP BY shard"
        placed: dict[str, int] = dict(directory.fetch(statement))
        return [_describe(name, placed.get(name, 0), directory) for name in (DIRECTORY, *settings.SHARDS)]


def _describe(name: str, people: int, directory: Server) -> ServerState:
    try:
        with connect(name) as (server,):
            holders = _list_holders(server)
            prepared = server.fetch_one("SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()")
    except psycopg.OperationalError:
        return ServerState(name, answers=False, people=people)
    here = directory.fetch("SELECT id FROM accounts_user WHERE id = ANY(%s) AND shard = %s", [holders, name])
    strays = set(holders) - {row[0] for row in here}
    return ServerState(name, True, people, tuple(sorted(strays)), prepared)


def _list_holders(server: Server) -> list[int]:
    """The IDs of all whom a server holds rows of."""
    each = (
        sql.SQL("SELECT user_id FROM {} WHERE user_id IS NOT NULL").format(sql.Identifier(table.name))
        for table in read_tables()
    )
    return [row[0] for row in server.fetch(sql.SQL(" UNION ").join(each))]
