"""The file of a backup: a zip of the database's dump (``pg_dump -Fc``), the signing key and a manifest.

A zip holds a checksum of each part, and ``unzip -p FILE database.dump`` gives the dump to other programs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import IO

import psycopg

from apps.backup.postgresql import BackupError, Database, find_program
from apps.core.secret_key import fingerprint
from apps.core.version import VERSION

DUMP = "database.dump"
KEY = "secret_key"
MANIFEST = "manifest.json"

_SUFFIX = ".partial"
_LOCK_TIMEOUT = "60s"

# The quickest: higher levels take three times as long for a tenth less.
_COMPRESSION = "1"

_PORTION = 1024 * 1024
_ERROR = re.compile(r"^(?:(?:pg_dump|pg_restore|psql): (?:error|warning): |psql:.*?: ERROR: +)")


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup says about itself. `migrations`: those applied, as ``app.name``. `key`: the fingerprint of the
    installation's key. `server` and `programs`: PostgreSQL's major versions.
    """

    version: str
    created_at: datetime
    server: int
    programs: int
    migrations: list[str]
    key: str


@dataclass(frozen=True, slots=True)
class Archive:
    """A backup of which every checksum is right. `key`: the installation's, where it is in the file."""

    path: Path
    manifest: Manifest
    key: str | None

    @classmethod
    def open(cls, path: Path) -> Archive:
        """Check and read a backup; `BackupError` where it is none, damaged, or cannot be opened."""
        try:
            with zipfile.ZipFile(path) as file:
                values = json.loads(file.read(MANIFEST))
                manifest = Manifest(**{**values, "created_at": datetime.fromisoformat(values["created_at"])})
                key = file.read(KEY).decode() if KEY in file.namelist() else None
                file.getinfo(DUMP)
                changed = file.testzip()
        except OSError as error:
            raise BackupError(f"{path}: {error.strerror or error}") from error
        except Exception as error:  # zipfile raises about ten kinds where bytes have changed
            raise BackupError(f"{path} is no backup of Jiyi, or it is damaged. Nothing was restored.") from error
        if changed:
            raise BackupError(f"{path} is damaged: {changed} has changed. Nothing was restored.")
        return cls(path, manifest, key)

    def find_loader(self, database: Database) -> Path:
        """Return the pg_restore that can load this into a database; `BackupError` where there is none."""
        server = database.read_major()
        if server < self.manifest.server:
            raise BackupError(
                f"This backup is from PostgreSQL {self.manifest.server}; the target is PostgreSQL {server}, "
                "which is older and may not be able to read it. Restore into the same version or a newer one."
            )
        return find_program("pg_restore", max(server, self.manifest.programs))[0]

    def load(self, database: Database) -> None:
        """Load the dump into a database in which there is nothing yet."""
        program = self.find_loader(database)
        try:
            with database.connect() as connection:
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        except psycopg.Error as error:
            raise BackupError(
                "The new database has no pgvector, and this role may not install it. As a superuser, run "
                "CREATE EXTENSION vector in the database template1."
            ) from error
        with zipfile.ZipFile(self.path) as file, file.open(DUMP) as dump:
            _restore_dump(dump, database, program=program)
        with database.connect() as connection:
            connection.execute("ANALYZE")


def write_backup(
    path: Path, *, database: Database, key: str, now: datetime, include_key: bool = True, force: bool = False
) -> Manifest:
    """Write a backup of the database to `path`, which appears when it is complete; returns what it says of itself.

    Others may go on reading and writing: it holds what was there at one moment. `BackupError` and no file otherwise.
    """
    with write_file(path, force=force) as file, zipfile.ZipFile(file, "w") as archive:
        server = database.read_major()
        program, programs = find_program("pg_dump", server)
        migrations = database.list_migrations()
        manifest = Manifest(VERSION, now, server, programs, migrations, fingerprint(key))
        with archive.open(DUMP, "w", force_zip64=True) as dump:
            _dump(database, program=program, into=dump)
        if include_key:
            archive.writestr(KEY, key)
        archive.writestr(MANIFEST, json.dumps(asdict(manifest) | {"created_at": now.isoformat()}, indent=1))
    return manifest


@contextmanager
def write_file(path: Path, *, force: bool = False) -> Iterator[IO[bytes]]:
    """Write a new file (mode 600) that becomes `path` when the block ends well, and is gone when it does not.

    Raises `BackupError` where `path` is there already (unless `force`) or cannot be written, the disk being full say.
    """
    check_free(path, force=force)
    for draft in path.parent.glob(f".{path.name}.*{_SUFFIX}"):  # of a run that was killed
        with suppress(OSError):
            if time.time() - draft.stat().st_mtime > 3600:  # else another run may be writing it
                draft.unlink()
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=_SUFFIX)
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            check_free(path, force=force)
            os.replace(name, path)
            folder = os.open(path.parent, os.O_RDONLY)
            os.fsync(folder)  # the name is to outlast a crash, too
            os.close(folder)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise BackupError(f"{path}: {error.strerror}") from error


def check_free(path: Path, *, force: bool) -> None:
    """Raise `BackupError` unless a file may be written under this name."""
    if os.path.isdir(path):  # unlike the method, it does not mind a name that no file can have
        raise BackupError(f"{path} is a folder.")
    if os.path.lexists(path) and not force:
        raise BackupError(f"{path} is there already. Choose another name, or use --force to replace it.")
    if not path.parent.is_dir():
        raise BackupError(f"There is no folder {path.parent}.")


def _dump(database: Database, *, program: Path, into: IO[bytes]) -> None:
    command: list[str | Path] = [
        *(program, "--format=custom", f"--compress={_COMPRESSION}", "--no-owner", "--no-privileges"),
        f"--lock-wait-timeout={_LOCK_TIMEOUT}",
    ]
    environment = database.environment()
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=errors) as process,
    ):
        assert process.stdout is not None
        try:
            shutil.copyfileobj(process.stdout, into, _PORTION)
        except BaseException:
            process.kill()
            raise
        if process.wait() != 0:
            raise BackupError(f"pg_dump failed: {_read_errors(errors, process.returncode)}")


def _restore_dump(dump: IO[bytes], database: Database, *, program: Path) -> None:
    """Have pg_restore make statements of the dump, and psql execute them in one transaction.

    pg_restore could do so itself. But who is no superuser may define a function with pgvector's settings only in a
    session that has used pgvector before.
    """
    to_statements: list[str | Path] = [program, "--no-owner", "--no-privileges", "--no-comments", "--file=-"]
    execute: list[str | Path] = [
        *(program.with_name("psql"), "--no-psqlrc", "--quiet", "--output=/dev/null", "--single-transaction"),
        *("--set=ON_ERROR_STOP=1", "--command=SELECT '[1]'::vector", "--file=-", f"--dbname={database.name}"),
    ]
    environment, pipe = database.environment(), subprocess.PIPE
    with (
        tempfile.TemporaryFile() as unread,
        tempfile.TemporaryFile() as refused,
        subprocess.Popen(to_statements, env=environment, stdin=pipe, stdout=pipe, stderr=unread) as reader,
        subprocess.Popen(execute, env=environment, stdin=reader.stdout, stderr=refused) as writer,
    ):
        assert reader.stdin is not None
        assert reader.stdout is not None
        reader.stdout.close()  # psql has it: pg_restore is to notice when psql has ended
        try:
            with suppress(BrokenPipeError), reader.stdin as into:  # one of them has failed, and tells why
                shutil.copyfileobj(dump, into, _PORTION)
            reader.wait()
            writer.wait()
        except BaseException:
            writer.kill()  # before pg_restore, whose end it would take for that of all statements
            writer.wait()
            reader.kill()
            raise
        if writer.returncode != 0:
            raise BackupError(f"The database refused the dump: {_read_errors(refused, writer.returncode)}")
        if reader.returncode != 0:
            raise BackupError(f"pg_restore failed: {_read_errors(unread, reader.returncode)}")


def _read_errors(file: IO[bytes], code: int) -> str:
    """Return a program's last errors in one line, without what follows each, which may quote data."""
    file.seek(0)
    lines = [line.decode(errors="replace").rstrip() for line in file]
    errors = [_ERROR.sub("", line) for line in lines if _ERROR.match(line)]
    return "; ".join(errors[-3:]) or f"it ended with {code}"
