"""PostgreSQL as backups use it: databases by their parameters, and the programs of a version that fits a server."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import psycopg
from django.core.management.base import CommandError
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections
from psycopg import pq, sql

from apps.core.db import disconnect
from apps.core.postgresql.base import DatabaseWrapper
from apps.embedded.layout import InstallationInUse
from apps.embedded.postgres import MAJOR, bundled_programs
from apps.embedded.servers import ServersUnavailable

_LONGEST_NAME = 63

# Where distributions keep the programs of each version.
_SYSTEM = ("usr/lib/postgresql/*/bin", "usr/pgsql-*/bin", "opt/homebrew/opt/postgresql@*/bin")


class BackupError(Exception):
    """A backup, a restore or an upgrade is not possible; the message says why, and what to do. Nothing was changed."""


@contextmanager
def told_errors(*, interrupted: str) -> Iterator[None]:
    """Turn what is expected to fail into a `CommandError`; TERM ends the block like Ctrl-C, with `interrupted`."""
    handler = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except (BackupError, InstallationInUse, ServersUnavailable) as error:
        raise CommandError(str(error)) from error
    except (psycopg.Error, DatabaseError) as error:
        # Only the first line: what follows may quote data.
        raise CommandError(f"The database refused: {str(error).strip().partition(chr(10))[0]}") from error
    except OSError as error:
        raise CommandError(f"{error.filename or 'Writing failed'}: {error.strerror or error}") from error
    except KeyboardInterrupt:
        raise CommandError(interrupted) from None
    finally:
        signal.signal(signal.SIGTERM, handler)


@dataclass(frozen=True, slots=True)
class Database:
    """A database by its parameters as libpq names them (``host``, ``dbname``, ``user``, …)."""

    parameters: Mapping[str, str]

    @classmethod
    def of_django(cls) -> Database:
        """Return the database that Django is configured for; `BackupError` where others may have theirs in it, too."""
        given = cast(DatabaseWrapper, connections[DEFAULT_DB_ALIAS]).get_connection_params()
        if "search_path" in str(given.get("options", "")):
            raise BackupError(
                "This installation is one schema of its database: back it up and restore it with the database's own "
                "programs (docs/deployment.md)."
            )
        known = _list_keywords()
        return cls({name: str(value) for name, value in given.items() if name in known and name != "options"})

    @classmethod
    def at(cls, url: str) -> Database:
        """Return the database of a URL as libpq reads it."""
        return cls({name: str(value) for name, value in psycopg.conninfo.conninfo_to_dict(url).items()})

    @property
    def name(self) -> str:
        return self.parameters["dbname"]

    def named(self, name: str) -> Database:
        """Return another database of the same server."""
        return replace(self, parameters={**self.parameters, "dbname": name})

    def beside(self, suffix: str) -> Database:
        """Return a database of the same server whose name is made of this one's."""
        return self.named(f"{self.name[: _LONGEST_NAME - len(suffix) - 1]}_{suffix}")

    @contextmanager
    def connect(self) -> Iterator[psycopg.Connection]:
        """Open a connection of its own, in autocommit; `BackupError` where there is none to be had."""
        try:
            connection = psycopg.connect(**cast(Any, self.parameters), autocommit=True, application_name="jiyi-backup")
        except psycopg.OperationalError as error:
            raise BackupError(f"The database {self.name} cannot be reached: {str(error).strip()}") from error
        with connection:
            yield connection

    def fetch(self, question: str, *parameters: str) -> list[tuple[Any, ...]]:
        """Return the rows of a question asked over a connection of its own."""
        with self.connect() as connection:
            return connection.execute(cast(Any, question), parameters).fetchall()

    def environment(self) -> dict[str, str]:
        """Return what PostgreSQL's programs take from the environment: passwords do not belong in command lines."""
        variables = _list_keywords()
        clean = {name: value for name, value in os.environ.items() if name not in variables.values()}
        return clean | {variables[name]: value for name, value in self.parameters.items() if variables.get(name)}

    def read_major(self) -> int:
        """Return the major version of the server."""
        with self.connect() as connection:
            return connection.info.server_version // 10_000

    def list_migrations(self) -> list[str]:
        """Return the applied migrations as ``app.name``; none where there is no table of them."""
        if not self.fetch("SELECT FROM pg_tables WHERE schemaname = 'public' AND tablename = 'django_migrations'"):
            return []
        return sorted(f"{app}.{name}" for app, name in self.fetch("SELECT app, name FROM django_migrations"))

    def check_unused(self) -> None:
        """Raise `BackupError` while anybody else is connected."""
        sessions = self.fetch(
            """SELECT COALESCE(NULLIF(application_name, ''), 'a program'), COALESCE(client_addr::text, 'this machine')
               FROM pg_stat_activity
               WHERE datname = %s AND pid <> pg_backend_pid() AND backend_type = 'client backend'""",
            self.name,
        )
        if sessions:
            users = ", ".join(sorted({f"{program} on {address}" for program, address in sessions}))
            raise BackupError(
                f"The database {self.name} is in use ({len(sessions)} connections: {users}). "
                "Stop everything that uses it first."
            )

    def check_replaceable(self) -> None:
        """Raise `BackupError` unless the role may create databases and rename this one."""
        allowed = self.fetch(
            """SELECT FROM pg_roles, pg_database WHERE rolname = current_user AND datname = %s
               AND (rolsuper OR rolcreatedb AND pg_has_role(current_user, datdba, 'USAGE'))""",
            self.name,
        )
        if not allowed:
            raise BackupError(
                f"This role may not create a database beside {self.name} and rename it. As a superuser, run "
                "ALTER ROLE … CREATEDB, and ALTER DATABASE … OWNER TO it; this may be taken back afterwards."
            )

    def create(self, *, like: Database) -> None:
        """Create it, empty, with the locale and the settings of another one; what was called so is dropped."""
        self.drop()
        with self.named("postgres").connect() as connection:
            column = "datlocale" if connection.info.server_version >= 170_000 else "daticulocale"
            rows = connection.execute(
                sql.SQL(
                    """SELECT datname, pg_encoding_to_char(encoding), datlocprovider, datcollate, datctype, {}
                       FROM pg_database WHERE datname IN (%s, 'template1')"""
                ).format(sql.Identifier(column)),
                [like.name],
            )
            locales = {database: locale for database, *locale in rows}
            statement = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(self.name))
            # template1 has the extensions that an administrator has put there; only template0 allows another locale.
            if locales[like.name] != locales["template1"]:
                encoding, provider, collate, ctype, locale = locales[like.name]
                way = sql.SQL(" TEMPLATE template0 ENCODING {} LC_COLLATE {} LC_CTYPE {}")
                statement += way.format(encoding, collate, ctype)
                if kind := {"i": "icu", "b": "builtin"}.get(provider):
                    statement += sql.SQL(f" LOCALE_PROVIDER {kind} {kind}_LOCALE {{}}").format(locale)
            connection.execute(statement)
            settings = connection.execute(
                """SELECT unnest(setconfig) FROM pg_db_role_setting
                   WHERE setrole = 0 AND setdatabase = (SELECT oid FROM pg_database WHERE datname = %s)""",
                [like.name],
            )
            for (setting,) in settings.fetchall():
                key, _, value = setting.partition("=")
                alter = sql.SQL("ALTER DATABASE {} SET {} TO {}")
                connection.execute(alter.format(sql.Identifier(self.name), sql.Identifier(key), value))

    def drop(self) -> None:
        """Drop it, if it is there."""
        with self.named("postgres").connect() as connection:
            # By force: programs of a run that was killed may still be at it.
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(self.name)))

    def make_way(self, *, new: Database, old: Database) -> None:
        """Let `new` take the name of this one, which becomes `old`: in one transaction, both or neither.

        Raises `BackupError` while somebody is connected to either.
        """
        old.drop()
        rename = sql.SQL("ALTER DATABASE {} RENAME TO {}")
        try:
            with self.named("postgres").connect() as connection, connection.transaction():
                connection.execute(rename.format(sql.Identifier(self.name), sql.Identifier(old.name)))
                connection.execute(rename.format(sql.Identifier(new.name), sql.Identifier(self.name)))
        except psycopg.errors.ObjectInUse as error:
            raise BackupError(
                f"Somebody is connected to the database {self.name}. Stop everything that uses it. Nothing was changed."
            ) from error


def _list_keywords() -> dict[str, str]:
    """Return libpq's parameters, and the environment variable of each ("" where there is none)."""
    return {option.keyword.decode(): (option.envvar or b"").decode() for option in pq.Conninfo.get_defaults()}


@contextmanager
def django_uses(database: Database) -> Iterator[None]:
    """Have Django use another database of its server for the time of the block."""
    configured = connections[DEFAULT_DB_ALIAS].settings_dict
    before = configured["NAME"]
    disconnect()
    configured["NAME"] = database.name
    try:
        yield
    finally:
        disconnect()
        configured["NAME"] = before


def find_program(name: str, at_least: int, *, folders: Sequence[Path] | None = None) -> tuple[Path, int]:
    """Return pg_dump or pg_restore of the oldest version that is not older than this one, and that version.

    An older pg_dump refuses a server, and an older pg_restore cannot read a dump: `BackupError` says which is needed.
    """
    found: dict[int, Path] = {}
    for program in [folder / name for folder in folders or _list_folders()]:
        if program.is_file() and (major := read_major(program)) is not None:
            found.setdefault(major, program)
    fitting = [major for major in found if major >= at_least]
    if not fitting:
        there = f"found: {', '.join(map(str, sorted(found)))}" if found else "none was found"
        raise BackupError(
            f"{name} of PostgreSQL {at_least} or newer is needed ({there}). Install it and have it on PATH; "
            f"on Debian and Ubuntu it is in postgresql-client-{at_least}."
        )
    return found[min(fitting)], min(fitting)


def find_server_programs(major: int) -> Path | None:
    """Return the folder with the programs of a server of this version, if there is one."""
    return next((folder for folder in _list_folders() if read_major(folder / "postgres") == major), None)


def read_major(program: Path) -> int | None:
    """Return the major version that a program of PostgreSQL says it is of; None where it does not run."""
    try:
        answer = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    number = re.search(r"\(PostgreSQL\) (\d+)", answer.stdout)
    return int(number[1]) if number and answer.returncode == 0 else None


def _list_folders() -> list[Path]:
    """Return where programs are: on PATH, in the embedded server's wheel, and where distributions keep them."""
    folders = [Path(folder) for folder in os.get_exec_path()]
    with suppress(RuntimeError):  # the wheel is not installed
        folders += dict.fromkeys(bundled_programs(major) for major in range(MAJOR, MAJOR - 4, -1))
    return folders + [folder for pattern in _SYSTEM for folder in sorted(Path("/").glob(pattern), reverse=True)]
