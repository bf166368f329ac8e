"""A second server: another database of the same schema, in the PostgreSQL of this run."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from django.db import connections
from pytest_django.plugin import DjangoDbBlocker

from apps.embedded.postgres import bundled_programs

NAME = "b"
ALIAS = f"shard_{NAME}"


@dataclass(frozen=True)
class Shard:
    """The database of the shard ``b``."""

    settings: dict[str, Any]

    def connect(self) -> psycopg.Connection[Any]:
        parameters = {"host": "HOST", "port": "PORT", "user": "USER", "password": "PASSWORD", "dbname": "NAME"}
        return psycopg.connect(autocommit=True, **{name: self.settings[key] for name, key in parameters.items()})

    def fetch(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        with self.connect() as connection:
            return connection.execute(statement, parameters or None).fetchall()


@pytest.fixture(scope="session")
def _shard_settings(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[dict[str, Any]]:
    """Make the database: its schema, and what is not personal, are those of the database that tests have anyway."""
    directory = connections["default"].settings_dict
    name = f"{directory['NAME']}_{NAME}"
    here = {"PGHOST": directory["HOST"], "PGPORT": str(directory["PORT"]), "PGUSER": directory["USER"]}
    here["PGPASSWORD"] = directory["PASSWORD"]
    programs = bundled_programs()
    settings = {**directory, "NAME": name, "OPTIONS": {**directory["OPTIONS"]}}
    settings["OPTIONS"].pop("pool", None)
    with django_db_blocker.unblock():
        server = Shard({**settings, "NAME": "postgres"})
        with server.connect() as connection:
            connection.execute(f'DROP DATABASE IF EXISTS "{name}"')
            connection.execute(f'CREATE DATABASE "{name}"')
        schema = [programs / "pg_dump", "--schema-only", "--no-owner", "--no-comments", "--dbname", directory["NAME"]]
        known = [programs / "pg_dump", "--data-only", "--table", "django_migrations", "--dbname", directory["NAME"]]
        for command in (schema, known):
            dumped = subprocess.run(command, env=here, capture_output=True, check=True).stdout
            load = [programs / "psql", "-q", "--no-psqlrc", "-v", "ON_ERROR_STOP=1", "--dbname", name]
            loaded = b"SELECT '[1]'::vector;\n" + dumped  # pgvector's parameters are known once it is used
            subprocess.run(load, env=here, input=loaded, stdout=subprocess.DEVNULL, check=True)
        yield settings
        with server.connect() as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def shard(transactional_db: None, _shard_settings: dict[str, Any], settings: Any) -> Iterator[Shard]:
    """The directory knows the shard ``b``, which is empty."""
    settings.SHARDS = {NAME: {"database": "unused", "url": "http://127.0.0.1:9"}}
    connections.databases[ALIAS] = _shard_settings
    found = Shard(_shard_settings)
    yield found
    connections[ALIAS].close()
    del connections[ALIAS], connections.databases[ALIAS]
    for (gid,) in found.fetch("SELECT gid FROM pg_prepared_xacts WHERE database = current_database()"):
        with found.connect() as connection:
            connection.execute(f"ROLLBACK PREPARED '{gid}'")
    with found.connect() as connection:
        connection.execute("TRUNCATE accounts_user, embedding_model CASCADE")
