"""Writing a backup: one snapshot of the database, counted and dumped while others go on writing."""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO

from psycopg import IsolationLevel

from apps.backup.archive import DUMP, KEY, ArchiveWriter, write_file
from apps.backup.database import Database, count_rows, measure_tables, read_migrations, read_server_major
from apps.backup.programs import find_pg_dump
from apps.backup.progress import Bar
from apps.backup.types import BackupError, Manifest
from apps.core.secret_key import fingerprint
from apps.core.version import VERSION

_PORTION = 256 * 1024
_LOCK_TIMEOUT = "60s"
_COMPRESSION = "1"
"""The quickest: higher levels take three times as long for a tenth less."""

_BEGUN = re.compile(r'dumping contents of table "public\.(.*)"$')
_ERROR = re.compile(r"^(?:(?:pg_dump|pg_restore|psql): (?:error|warning): |psql:.*?: ERROR: +)")


@dataclass(frozen=True, slots=True)
class InstallationKey:
    """The installation's key: to be named in the backup, and to be put into it where `include`."""

    text: str
    include: bool


def write_backup(
    path: Path,
    *,
    database: Database,
    key: InstallationKey,
    now: datetime,
    bar: Bar,
    force: bool = False,
) -> Manifest:
    """Write a backup of the database to `path`, which appears when it is complete; returns what it says of itself.

    Others may go on reading and writing: it holds what was there at one moment. `BackupError` and no file otherwise.
    """
    with write_file(path, force=force) as file, database.connect() as connection:
        connection.isolation_level = IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        server = read_server_major(connection)
        program, programs = find_pg_dump(server=server)
        with connection.transaction():
            row = connection.execute("SELECT pg_export_snapshot()").fetchone()
            assert row is not None
            sizes = measure_tables(connection)
            bar.expect(sum(sizes.values()) or 1, "Counting")
            manifest = Manifest(
                version=VERSION,
                created_at=now,
                server=server,
                programs=programs,
                migrations=read_migrations(connection),
                rows=count_rows(connection, sizes),
                key=fingerprint(key.text),
                has_key=key.include,
            )
            writer = ArchiveWriter(file)
            command: list[str | Path] = [
                *(program, "--format=custom", f"--compress={_COMPRESSION}", "--no-owner", "--no-privileges"),
                *(f"--snapshot={row[0]}", f"--lock-wait-timeout={_LOCK_TIMEOUT}", "--verbose"),
            ]
            writer.add(DUMP, _run(command, environment=database.environment(), sizes=sizes, bar=bar))
        if key.include:
            writer.add(KEY, [key.text.encode()])
        writer.finish(manifest)
    return manifest


def _run(
    command: list[str | Path], *, environment: Mapping[str, str], sizes: Mapping[str, int], bar: Bar
) -> Iterator[bytes]:
    """What pg_dump writes, in portions; the bar follows its tables."""
    follower = _Follower(sizes, bar)
    process = subprocess.Popen(command, env=dict(environment), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    with process, attend(process.stderr, follower.follow) as errors:
        try:
            while portion := process.stdout.read(_PORTION):
                yield portion
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        raise BackupError(f"pg_dump failed: {describe(errors, process.returncode)}")
    follower.end()


class _Follower:
    """Moves the bar by the sizes of the tables that pg_dump has finished."""

    def __init__(self, sizes: Mapping[str, int], bar: Bar) -> None:
        self._sizes, self._bar, self._present = sizes, bar, ""

    def follow(self, line: str) -> None:
        begun = _BEGUN.search(line)
        if begun:
            self.end()
            self._present = begun[1]
            self._bar.describe(f"Saving {self._present}")

    def end(self) -> None:
        self._bar.advance(self._sizes.get(self._present, 0))
        self._present = ""


class attend:
    """Read the lines of a program's stderr in a thread, for the time of the block; gives the list of errors."""

    def __init__(self, stream: IO[bytes], follow: Callable[[str], None]) -> None:
        self._stream, self._follow = stream, follow
        self.errors: list[str] = []
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> list[str]:
        self._thread.start()
        return self.errors

    def __exit__(self, *exc: object) -> None:
        self._thread.join()

    def _read(self) -> None:
        for raw in self._stream:
            line = raw.decode(errors="replace").rstrip()
            if _ERROR.match(line):
                self.errors.append(line)
            else:
                self._follow(line)


def describe(errors: list[str], code: int) -> str:
    """Return a program's errors in one line. What follows them may quote data, and is left out."""
    return "; ".join(_ERROR.sub("", line) for line in errors[-3:]) or f"it ended with {code}"
