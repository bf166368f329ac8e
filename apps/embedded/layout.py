"""The data folder: where it is, where everything lies in it, who has it for themselves, and at which addresses its
servers answer.

All but the first depends on the folder's path alone, so every process finds the same files, locks and addresses.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import platformdirs

DATABASE_NAME = "jiyi"
DATABASE_ROLE = "jiyi"

# sun_path holds 108 bytes on Linux and 104 on macOS, the closing NUL included.
_MAX_SOCKET_PATH = 103
_LONGEST_SOCKET_NAME = ".s.PGSQL.5432"


@dataclass(frozen=True)
class Home:
    """Where an installation keeps its settings and its data by default, and how its commands are called.

    A user without a home has neither by default, and says where data is kept.
    """

    env_file: Path | None
    data: Path | None
    command: str

    @classmethod
    def of(cls, code: Path) -> Home:
        """The home of the code in the folder `code`, which is a clone's or an installed package.

        A clone keeps everything beside the code. An installed package is not for writing: it uses the folders that
        the system has for a person's settings and data.
        """
        if (code / "__init__.py").exists():
            command = "jiyi-server"
            try:
                settings, data = platformdirs.user_config_path("jiyi"), platformdirs.user_data_path("jiyi")
            except RuntimeError:  # no HOME, and no account that tells it, as of a container's arbitrary user
                return cls(env_file=None, data=None, command=command)
            return cls(env_file=settings / ".env", data=data, command=command)
        return cls(env_file=code / ".env", data=code / ".data", command="manage.py")

    def get_data_folder(self, chosen: str) -> Path:
        """Return the folder `chosen` for data, or the default one; ends the process where there is neither."""
        folder = chosen or self.data
        if folder is None:
            sys.exit(f"User {os.getuid()} has no home folder to keep data in. Set JIYI_DATA_DIR or HOME.")
        return Path(folder).resolve()


@dataclass(frozen=True)
class DataLayout:
    """The files of one data folder (that of `Home` unless ``JIYI_DATA_DIR`` says otherwise)."""

    root: Path

    @classmethod
    def at(cls, data_dir: Path | str) -> DataLayout:
        """The layout of ``data_dir``; two spellings of one folder give the same layout."""
        return cls(root=Path(data_dir).resolve())

    @property
    def sockets(self) -> Path:
        """Folder of the servers' unix sockets: inside the data folder, or a short one when that path is too long."""
        inside = self.root / "sockets"
        if len(os.fsencode(inside / _LONGEST_SOCKET_NAME)) <= _MAX_SOCKET_PATH:
            return inside
        digest = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:16]
        return Path("/tmp") / f"jiyi-{digest}"  # noqa: S108 - made 0700 and its owner checked before use

    @property
    def run(self) -> Path:
        """Folder of lock files."""
        return self.root / "run"

    @property
    def up_lock(self) -> Path:
        """Held by the one ``manage.py up`` of this folder; holds its process ID."""
        return self.run / "up.lock"

    @property
    def log(self) -> Path:
        """Folder of the servers' own logs."""
        return self.root / "log"

    def state(self, name: str) -> Path:
        """Folder in which the server ``name`` keeps its data."""
        return self.root / name

    def users_lock(self, name: str) -> Path:
        """Held shared by everyone who needs the server ``name``; its keeper stops when nobody does."""
        return self.run / f"{name}.users.lock"

    def keeper_lock(self, name: str) -> Path:
        """Held by the keeper and by the server itself: free means that no such process is left."""
        return self.run / f"{name}.keeper.lock"

    def start_lock(self, name: str) -> Path:
        """Held while somebody looks whether ``name`` runs and starts it if not."""
        return self.run / f"{name}.start.lock"

    @property
    def backups(self) -> Path:
        """Folder of the backups that are made before upgrades."""
        return self.root / "backups"

    @property
    def brought_over(self) -> Path:
        """A data folder of its own, in which the cluster of a newer PostgreSQL is made beside the old one."""
        return self.root / "upgrading"

    @property
    def swap_mark(self) -> Path:
        """There while the new cluster takes the place of the old one: it is complete."""
        return self.root / "upgrading.ready"

    @property
    def valkey_socket(self) -> Path:
        """The unix socket on which the embedded Valkey listens."""
        return self.sockets / "valkey.sock"


def database_url(data_dir: Path | str) -> str:
    """URL of the embedded PostgreSQL as libpq reads it: the socket's folder, percent-encoded, is the host."""
    host = quote(str(DataLayout.at(data_dir).sockets), safe="")
    return f"postgresql://{DATABASE_ROLE}@{host}/{DATABASE_NAME}"


def redis_url(data_dir: Path | str) -> str:
    """URL of the embedded Valkey as redis-py (and Django's cache) reads it: ``unix://<path of the socket>``."""
    return f"unix://{quote(str(DataLayout.at(data_dir).valkey_socket))}"


def broker_url(redis_url: str) -> str:
    """The same server as Celery wants it written.

    ``unix:///path?db=1`` is ``redis+socket:///path?virtual_host=1`` there; other schemes mean the same to both.
    """
    parts = urlsplit(redis_url)
    if parts.scheme != "unix":
        return redis_url
    database = parse_qs(parts.query).get("db", ["0"])[0]
    return f"redis+socket://{parts.path}?{urlencode({'virtual_host': database})}"


class InstallationInUse(Exception):
    """Somebody else has the data folder for themselves; the message says who."""


def try_lock(file: IO[str] | IO[bytes] | int) -> bool:
    """Take the lock on ``file`` for ourselves, or return False when somebody else holds it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def hold_installation(layout: DataLayout) -> Iterator[None]:
    """Have the data folder for ourselves: one ``up``, restore or upgrade at a time. Else `InstallationInUse`."""
    layout.run.mkdir(parents=True, exist_ok=True)
    with layout.up_lock.open("a+") as lock:
        if not try_lock(lock):
            lock.seek(0)
            holder = lock.read().strip() or "unknown"
            raise InstallationInUse(f"Jiyi is already running on {layout.root} (process {holder}).")
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield
