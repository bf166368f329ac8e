"""Connections to the servers that people's data is on, as PostgreSQL sees them: transactions of our own on each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from django.conf import settings
from django.db import connections

from apps.core.errors import InvalidInput

DIRECTORY = ""

_OURS = frozenset({"pool", "prepared_statements"})
"""Options of Django's backend and of ours, which the driver does not know."""


@dataclass
class Server:
    """One server, and a connection to it that commits each statement unless `begin` was called."""

    name: str
    connection: psycopg.Connection[Any]

    @property
    def is_directory(self) -> bool:
        return self.name == DIRECTORY

    @property
    def title(self) -> str:
        return self.name or "directory"

    def execute(self, statement: Any, parameters: Sequence[Any] = ()) -> psycopg.Cursor[Any]:
        return self.connection.execute(statement, parameters or None)

    def fetch(self, statement: Any, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self.execute(statement, parameters).fetchall()

    def fetch_one(self, statement: Any, parameters: Sequence[Any] = ()) -> Any:
        """Return the only column of the only row; None without a row."""
        row = self.execute(statement, parameters).fetchone()
        return row[0] if row else None


def check_name(name: str) -> None:
    """`InvalidInput` unless there is such a server; "" is the directory."""
    if name and name not in settings.SHARDS:
        known = ", ".join(settings.SHARDS) or "none"
        raise InvalidInput(f"There is no shard {name!r} in SHARDS. Known: {known}.")


@contextmanager
def connect(*names: str) -> Iterator[list[Server]]:
    """Connect to servers by name, to each once; what was not committed is rolled back at the end."""
    with ExitStack() as stack:
        servers: dict[str, Server] = {}
        for name in names:
            if name not in servers:
                servers[name] = Server(name, stack.enter_context(_open(name)))
        yield [servers[name] for name in names]


@contextmanager
def _open(name: str) -> Iterator[psycopg.Connection[Any]]:
    given = connections[f"shard_{name}" if name else "default"].settings_dict
    options = {key: value for key, value in given["OPTIONS"].items() if key not in _OURS}
    connection = psycopg.connect(
        dbname=given["NAME"],
        host=given["HOST"],
        port=given["PORT"],
        user=given["USER"],
        password=given["PASSWORD"],
        autocommit=True,
        **options,
    )
    try:
        # The same text of the same value on all servers.
        connection.execute("SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; SET extra_float_digits = 1")
        yield connection
    finally:
        connection.close()
