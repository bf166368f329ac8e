"""Loading the dump of a backup into an empty database, and counting what came."""

from __future__ import annotations

import re
import subprocess
from contextlib import suppress
from pathlib import Path

import psycopg

from apps.backup.archive import DUMP, Archive
from apps.backup.database import Database, count_rows, read_server_major
from apps.backup.dumping import attend, describe
from apps.backup.programs import find_pg_restore
from apps.backup.progress import Bar
from apps.backup.types import BackupError, compare_rows

_USE_PGVECTOR = "SELECT '[1]'::vector"
_CREATING = re.compile(r"^pg_restore: (?:creating|processing data for) (.*)$")


def load(archive: Archive, database: Database, *, bar: Bar) -> None:
    """Load the dump into a database in which there is nothing yet: all of it or nothing, in one transaction.

    Then every table has as many rows as the backup says, or `BackupError`.
    """
    with database.connect() as connection:
        server = read_server_major(connection)
        check_server(archive, server=server)
        program = find_pg_restore(server=server, dumped_with=archive.manifest.programs)
        _create_extension(connection)
    bar.expect(archive.dump_size, "Restoring")
    _pipe(archive, database, program=program, bar=bar)
    with database.connect() as connection:
        bar.describe("Counting")
        wrong = compare_rows(archive.manifest.rows, count_rows(connection, archive.manifest.rows))
        if wrong:
            raise BackupError(f"Not everything was restored: {'; '.join(wrong)}.")
        bar.describe("Measuring")
        connection.execute("ANALYZE")


def _pipe(archive: Archive, database: Database, *, program: Path, bar: Bar) -> None:
    """The dump, to pg_restore, which makes statements of it, to psql, which has them executed in one transaction.

    pg_restore could do so itself. But who is no superuser may define a function with pgvector's settings only in a
    session that has used pgvector before.
    """
    to_statements: list[str | Path] = [
        program,
        "--no-owner",
        "--no-privileges",
        "--no-comments",
        "--verbose",
        "--file=-",
    ]
    execute: list[str | Path] = [
        *(program.with_name("psql"), "--no-psqlrc", "--quiet", "--output=/dev/null", "--single-transaction"),
        *("--set=ON_ERROR_STOP=1", f"--command={_USE_PGVECTOR}", "--file=-", f"--dbname={database.name}"),
    ]
    environment = database.environment()
    pipe = subprocess.PIPE

    def follow(line: str) -> None:
        if found := _CREATING.match(line):
            bar.describe(found[1].replace('"', "").replace("public.", ""))

    with (
        subprocess.Popen(to_statements, env=environment, stdin=pipe, stdout=pipe, stderr=pipe) as reader,
        subprocess.Popen(execute, env=environment, stdin=reader.stdout, stderr=pipe) as writer,
    ):
        assert reader.stdin is not None
        assert reader.stdout is not None
        assert reader.stderr is not None
        assert writer.stderr is not None
        reader.stdout.close()  # psql has it: pg_restore is to notice when psql has ended
        with attend(reader.stderr, follow) as unread, attend(writer.stderr, lambda _line: None) as refused:
            try:
                with suppress(BrokenPipeError), reader.stdin as into:  # one of them has failed, and tells why
                    for portion in archive.portions(DUMP):
                        into.write(portion)
                        bar.advance(len(portion))
                reader.wait()
                writer.wait()
            except BaseException:
                writer.kill()  # before pg_restore, whose end it would take for that of all statements
                writer.wait()
                reader.kill()
                raise
    if writer.returncode != 0:
        raise BackupError(f"The database refused the dump: {describe(refused, writer.returncode)}")
    if reader.returncode != 0:
        raise BackupError(f"pg_restore failed: {describe(unread, reader.returncode)}")


def check_server(archive: Archive, *, server: int) -> None:
    """Raise `BackupError` where the server is older than the one that the backup is from."""
    if server < archive.manifest.server:
        raise BackupError(
            f"This backup is from PostgreSQL {archive.manifest.server}; the target is PostgreSQL {server}, "
            "which is older and may not be able to read it. Restore into the same version or a newer one."
        )


def _create_extension(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    try:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except psycopg.Error as error:
        raise BackupError(
            "The new database has no pgvector, and this role may not install it. As a superuser, run "
            "CREATE EXTENSION vector in the database template1, or in the empty database that you restore into."
        ) from error
