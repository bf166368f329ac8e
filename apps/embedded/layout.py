"""Where everything lies inside the data folder: a pure mapping from one path to all others."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

# sun_path holds 108 bytes on Linux and 104 on macOS, the closing NUL included.
_MAX_SOCKET_PATH = 103
_LONGEST_SOCKET_NAME = ".s.PGSQL.5432"


@dataclass(frozen=True)
class DataLayout:
    """The files of one data folder (``.data`` unless ``JIYI_DATA_DIR`` says otherwise)."""

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
