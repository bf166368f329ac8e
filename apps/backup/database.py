"""The database that is backed up or restored into: by its parameters for libpq, whoever runs it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from psycopg import pq, sql
from psycopg.rows import TupleRow

from apps.backup.types import BackupError
from apps.core.db import disconnect
from apps.core.postgresql.base import DatabaseWrapper

Connection = psycopg.Connection[TupleRow]

_LONGEST_NAME = 63
_LISTED = """
SELECT quote_ident(relname), pg_table_size(oid) FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY relname
"""


@dataclass(frozen=True, slots=True)
class Database:
    """`parameters`: as libpq names them (``host``, ``dbname``, ``user``, …)."""

    parameters: Mapping[str, str]

    @classmethod
    def of_django(cls) -> Database:
        """The database that Django is configured for."""
        given = cast(DatabaseWrapper, connections[DEFAULT_DB_ALIAS]).get_connection_params()
        known = _list_keywords()
        return cls({name: str(value) for name, value in given.items() if name in known and name != "options"})

    @classmethod
    def at(cls, url: str) -> Database:
        """The database of a URL as libpq reads it."""
        return cls({name: str(value) for name, value in psycopg.conninfo.conninfo_to_dict(url).items()})

    @property
    def name(self) -> str:
        return self.parameters["dbname"]

    def named(self, name: str) -> Database:
        """Another database of the same server."""
        return replace(self, parameters={**self.parameters, "dbname": name})

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """A connection of its own, in autocommit; `BackupError` where there is none to be had."""
        try:
            connection = psycopg.connect(**cast(Any, self.parameters), autocommit=True, application_name="jiyi-backup")
        except psycopg.OperationalError as error:
            raise BackupError(f"The database cannot be reached: {str(error).strip()}") from error
        with connection:
            yield connection

    @contextmanager
    def connect_beside(self) -> Iterator[Connection]:
        """A connection to another database of the server, from which this one can be created and renamed."""
        for name in ("postgres", "template1"):
            try:
                connection = psycopg.connect(**cast(Any, self.named(name).parameters), autocommit=True)
            except psycopg.OperationalError as error:
                refused = error
                continue
            with connection:
                yield connection
                return
        raise BackupError(f"Neither the database postgres nor template1 can be opened: {str(refused).strip()}")

    def environment(self) -> dict[str, str]:
        """What PostgreSQL's programs take from the environment: passwords do not belong in command lines."""
        variables = _list_keywords()
        clean = {name: value for name, value in os.environ.items() if name not in variables.values()}
        given = {variables[name]: value for name, value in self.parameters.items() if variables.get(name)}
        return {**clean, **given}


def _list_keywords() -> dict[str, str]:
    """libpq's parameters, and the environment variable of each ("" where there is none)."""
    return {option.keyword.decode(): (option.envvar or b"").decode() for option in pq.Conninfo.get_defaults()}


def read_server_major(connection: Connection) -> int:
    return connection.info.server_version // 10_000


def measure_tables(connection: Connection) -> dict[str, int]:
    """Return how many bytes each table of the product takes."""
    return dict(connection.execute(_LISTED).fetchall())


def count_rows(connection: Connection, tables: Iterable[str]) -> dict[str, int]:
    """Return how many rows these tables hold (names as SQL writes them); one that is not there counts as empty."""
    counts: dict[str, int] = {}
    there = set(measure_tables(connection))
    for table in tables:
        if table in there:
            row = connection.execute(
                sql.SQL("SELECT count(*) FROM public.{}").format(sql.SQL(cast(Any, table)))
            ).fetchone()
            counts[table] = row[0] if row else 0
    return counts


def read_migrations(connection: Connection) -> frozenset[str]:
    """Return the applied migrations as ``app.name``; none where there is no table of them."""
    if not has_table(connection, "django_migrations"):
        return frozenset()
    return frozenset(f"{app}.{name}" for app, name in connection.execute("SELECT app, name FROM django_migrations"))


def has_table(connection: Connection, name: str) -> bool:
    row = connection.execute("SELECT to_regclass('public.' || quote_ident(%s)) IS NOT NULL", [name]).fetchone()
    return bool(row and row[0])


def holds_data(connection: Connection) -> bool:
    """Whether somebody has an account there."""
    if not has_table(connection, "accounts_user"):
        return False
    row = connection.execute("SELECT EXISTS (SELECT 1 FROM accounts_user)").fetchone()
    return bool(row and row[0])


def list_sessions(connection: Connection, name: str) -> list[str]:
    """Return who else is connected to a database, in words."""
    found = connection.execute(
        """SELECT COALESCE(NULLIF(application_name, ''), 'a program'), COALESCE(client_addr::text, 'this machine')
           FROM pg_stat_activity
           WHERE datname = %s AND pid <> pg_backend_pid() AND backend_type = 'client backend'""",
        [name],
    )
    return sorted(f"{program} on {address}" for program, address in found)


def may_replace(connection: Connection, name: str) -> bool:
    """Whether the role may create databases and rename this one."""
    row = connection.execute(
        """SELECT rolsuper OR rolcreatedb AND pg_has_role(current_user, datdba, 'USAGE')
           FROM pg_roles, pg_database WHERE rolname = current_user AND datname = %s""",
        [name],
    ).fetchone()
    return bool(row and row[0])


def create_beside(connection: Connection, name: str, *, like: str) -> None:
    """Create an empty database with the locale and the settings of another one; what was called so is dropped."""
    drop(connection, name)
    locale_column = "datlocale" if read_server_major(connection) >= 17 else "daticulocale"
    found = connection.execute(
        sql.SQL(
            """SELECT datname, pg_encoding_to_char(encoding), datlocprovider, datcollate, datctype, {}
               FROM pg_database WHERE datname IN (%s, 'template1')"""
        ).format(sql.Identifier(locale_column)),
        [like],
    )
    ways = {database: way for database, *way in found}
    encoding, provider, collate, ctype, locale = ways[like]
    statement = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name))
    if ways[like] != ways["template1"]:
        statement += sql.SQL(" TEMPLATE template0 ENCODING {} LC_COLLATE {} LC_CTYPE {}").format(
            sql.Literal(encoding), sql.Literal(collate), sql.Literal(ctype)
        )
        kind = {"i": ("icu", "ICU_LOCALE"), "b": ("builtin", "BUILTIN_LOCALE")}.get(provider)
        if kind:
            statement += sql.SQL(f" LOCALE_PROVIDER {kind[0]} {kind[1]} {{}}").format(sql.Literal(locale))
    connection.execute(statement)
    for (setting,) in connection.execute(
        """SELECT unnest(setconfig) FROM pg_db_role_setting
           WHERE setrole = 0 AND setdatabase = (SELECT oid FROM pg_database WHERE datname = %s)""",
        [like],
    ).fetchall():
        key, _, value = setting.partition("=")
        connection.execute(
            sql.SQL("ALTER DATABASE {} SET {} TO {}").format(
                sql.Identifier(name), sql.Identifier(key), sql.Literal(value)
            )
        )


def swap(connection: Connection, *, name: str, new: str, old: str) -> None:
    """Let `new` take the name of the database `name`, which becomes `old`: in one transaction, both or neither.

    Raises `BackupError` while somebody is connected to either.
    """
    drop(connection, old)
    try:
        with connection.transaction():
            for before, after in ((name, old), (new, name)):
                connection.execute(
                    sql.SQL("ALTER DATABASE {} RENAME TO {}").format(sql.Identifier(before), sql.Identifier(after))
                )
    except psycopg.errors.ObjectInUse as error:
        raise BackupError(
            f"Somebody is connected to the database {name}. Stop everything that uses it. Nothing was changed."
        ) from error


def drop(connection: Connection, name: str) -> None:
    """Drop a database of ours, if there is one: programs of a run that was killed may still be at it."""
    connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def name_beside(name: str, suffix: str) -> str:
    """Return the name of a database that belongs to another one."""
    return f"{name[: _LONGEST_NAME - len(suffix) - 1]}_{suffix}"


@contextmanager
def django_uses(name: str) -> Iterator[None]:
    """Have Django use another database of the server for the time of the block."""
    configured = connections[DEFAULT_DB_ALIAS].settings_dict
    before = configured["NAME"]
    disconnect()
    configured["NAME"] = name
    try:
        yield
    finally:
        disconnect()
        configured["NAME"] = before
