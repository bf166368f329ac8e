"""A database and a broker of the tests' own: embedded ones in a temporary folder, unless real ones are given.

The cluster, whose test database is migrated, is made once and copied for every run of the tests: migrating takes twenty
seconds, and each process of a run has a server of its own. Django migrates the copy again, which finds little to do, so
that what is kept may be older than a migration, but never of another text of one. ``python -m tests.support.servers``
makes it while the tests of other processes are still being collected.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from apps.embedded.layout import DATABASE_NAME, DATABASE_ROLE, DataLayout
from apps.embedded.postgres import Postgres
from apps.embedded.servers import get_missing_servers, hold_servers

PROJECT = Path(__file__).resolve().parents[2]
KEPT = PROJECT / ".test-output" / "clusters"

# What makes the database what it is: the migrations, what they import, and the server.
SOURCES = ("apps/*/migrations/*.py", "apps/core/*.py", "apps/embedded/postgres.py", "requirements/base.txt")


def make_data_folder() -> Path:
    """A new folder to be the ``JIYI_DATA_DIR`` of this run; everybody may enter it, as the servers are not root."""
    folder = Path(tempfile.mkdtemp(prefix="jiyi-tests-"))
    folder.chmod(0o755)
    return folder


@contextmanager
def run_servers(data_dir: Path) -> Iterator[None]:
    """The servers the environment does not give, for the time of the block; they end with us, however we end."""
    with hold_servers(data_dir, names=get_missing_servers(), durable=False):
        yield


def remove_data_folder(data_dir: Path) -> None:
    """Remove what ``make_data_folder`` made, with all that the servers left in it."""
    shutil.rmtree(data_dir)


def copy_cluster(data_dir: Path) -> None:
    """Put a copy of the prepared cluster into an empty data folder; the first one to come prepares it."""
    with _hold_prepared() as prepared:
        _copy(prepared, DataLayout.at(data_dir).state(Postgres.name))


@contextmanager
def _hold_prepared() -> Iterator[Path]:
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # others who come now want the same one
        prepared = KEPT / _compute_digest()
        if not prepared.exists():
            _prepare(prepared)
        yield prepared


def _compute_digest() -> str:
    digest = hashlib.sha256()
    for path in sorted(path for pattern in SOURCES for path in PROJECT.glob(pattern)):
        digest.update(f"{path.relative_to(PROJECT)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _prepare(final: Path) -> None:
    for older in KEPT.iterdir():
        if older.is_dir():
            shutil.rmtree(older)
    data_dir = make_data_folder()
    layout = DataLayout.at(data_dir)
    try:
        with hold_servers(data_dir, names=[Postgres.name], durable=False):
            environment = os.environ | {"JIYI_DATA_DIR": str(data_dir)}
            subprocess.run(
                [sys.executable, "manage.py", "migrate", "-v0", "--skip-checks"],
                cwd=PROJECT,
                env=environment,
                check=True,
            )
            server = f"host={layout.sockets} user={DATABASE_ROLE} dbname=postgres"
            with psycopg.connect(server, autocommit=True) as connection:
                connection.execute(f"ALTER DATABASE {DATABASE_NAME} RENAME TO test_{DATABASE_NAME}")
                connection.execute(f"CREATE DATABASE {DATABASE_NAME}")
        draft = final.with_suffix(".new")
        _copy(layout.state(Postgres.name), draft)
        draft.rename(final)
    finally:
        remove_data_folder(data_dir)


def _copy(source: Path, target: Path) -> None:
    subprocess.run(["cp", "-a", source, target], check=True)  # with its owner, which shutil does not copy


def main() -> None:
    if Postgres.name in get_missing_servers():
        with _hold_prepared():
            pass


if __name__ == "__main__":
    main()
