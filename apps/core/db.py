"""Do database work from async code, holding a connection only while it runs: a stream must not pin one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar, cast

from asgiref.sync import sync_to_async
from django.db import DEFAULT_DB_ALIAS, NotSupportedError, connections
from django.db.models import Model

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


def execute_many(statement: str, rows: Sequence[Mapping[str, Any] | Sequence[Any]]) -> None:
    """Run a statement that returns nothing for each row of parameters: planned once, in one round trip for all."""
    with cast(DatabaseWrapper, connections[DEFAULT_DB_ALIAS]).server_cursor() as cursor:
        if len(rows) == 1:  # `executemany` waits for the server three times
            cursor.execute(statement, rows[0])
        else:
            cursor.executemany(statement, rows)


def insert_rows(rows: Sequence[Model]) -> None:
    """Insert new rows of one model, with all that `bulk_create` does but for telling them keys that the database gives.

    In a third of its time: the statement is the same for any rows, so that nobody composes and plans it anew.
    """
    if not rows:
        return
    connection, meta = connections[DEFAULT_DB_ALIAS], rows[0]._meta
    fields = [field for field in meta.concrete_fields if field is not meta.auto_field]
    columns = ", ".join(f'"{field.column}"' for field in fields)
    statement = f"INSERT INTO {meta.db_table} ({columns}) VALUES ({', '.join(['%s'] * len(fields))})"  # noqa: S608
    execute_many(
        statement,
        [[field.get_db_prep_save(getattr(row, field.attname), connection) for field in fields] for row in rows],
    )
    for row in rows:
        row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS


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
