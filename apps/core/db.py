"""Do database work from async code, holding a connection only while it runs: a stream must not pin one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar, cast

from asgiref.sync import sync_to_async
from django.db import DEFAULT_DB_ALIAS, NotSupportedError, connections

from apps.core.postgresql.base import DatabaseWrapper

P = ParamSpec("P")
R = TypeVar("R")


def release_connections() -> None:
    """Give this thread's connections back to the pool, unless a transaction is open on them."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close()


def disconnect() -> None:
    """Close the databases and the pools behind them: this process is about to leave them to others, or to fork."""
    for connection in connections.all():
        connection.close()
        cast(DatabaseWrapper, connection).close_pool()


def fetch_rows(statement: str, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Run a statement written by hand and return its rows; JSON comes as text."""
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())


def fetch_prepared(statement: str, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Run a statement that PostgreSQL plans once for a connection, and return its rows; JSON comes as text.

    For what every turn reads: composing a query by the ORM and planning it take ten times as long as answering it. Its
    one plan is made without looking at the parameters, so it must be good for all of them: whoever asks, however much
    they have. Where that is not so, use `fetch_rows`.
    """
    connection = cast(DatabaseWrapper, connections[DEFAULT_DB_ALIAS])
    try:
        return _fetch_prepared(connection, statement, parameters)
    except NotSupportedError:
        # What was prepared keeps the types that its columns had then: once a migration has changed one, PostgreSQL
        # refuses it. A transaction is lost by that; rolling it back forgets what was prepared.
        if connection.in_atomic_block:
            raise
        with connection.cursor() as cursor:
            cursor.execute("DEALLOCATE ALL")  # psycopg sees it and prepares anew, too
        return _fetch_prepared(connection, statement, parameters)


def _fetch_prepared(
    connection: DatabaseWrapper, statement: str, parameters: Mapping[str, Any]
) -> list[tuple[Any, ...]]:
    with connection.prepared_cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())


async def in_database(func: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Run `func` in a worker thread with a database connection of its own, released when it returns or raises.

    Not thread-sensitive on purpose: a turn continues in a task of its own after its client has left, where Django's
    per-request thread no longer exists.
    """

    def run() -> R:
        try:
            return func(*args, **kwargs)
        finally:
            release_connections()

    return await sync_to_async(run, thread_sensitive=False)()
