"""Finding pg_dump and pg_restore of a version that fits the server."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from apps.backup.types import BackupError
from apps.embedded.services import MAJOR, bundled_programs

_SYSTEM = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin")
"""Where distributions keep the programs of each version."""

_SETS_TRANSACTION_TIMEOUT = 17
"""Since this version pg_restore sets a parameter that older servers refuse."""


def choose_to_dump(found: Iterable[int], *, server: int) -> int | None:
    """Return which of the versions dumps that server: its own, else the next newer one. An older one refuses to."""
    return min((major for major in found if major >= server), default=None)


def choose_to_restore(found: Iterable[int], *, server: int, dumped_with: int) -> int | None:
    """Return which of the versions restores a dump into that server.

    None older than what made the dump, which it could not read; none that would set what the server does not know.
    """
    fitting = (
        major for major in found if major >= dumped_with and (major <= server or server >= _SETS_TRANSACTION_TIMEOUT)
    )
    return min(fitting, key=lambda major: (abs(major - server), major), default=None)


def find_pg_dump(*, server: int) -> tuple[Path, int]:
    """Return pg_dump for a server of this major version, and its own; `BackupError` says which is needed."""
    found = _find("pg_dump")
    major = choose_to_dump(found, server=server)
    if major is None:
        raise BackupError(_lacking("pg_dump", found, f"of PostgreSQL {server} or newer", server))
    return found[major], major


def find_pg_restore(*, server: int, dumped_with: int) -> Path:
    """Return pg_restore for a server of this version and a dump by that one; `BackupError` says what is needed."""
    found = _find("pg_restore")
    major = choose_to_restore(found, server=server, dumped_with=dumped_with)
    if major is None:
        raise BackupError(
            _lacking("pg_restore", found, f"of PostgreSQL {max(server, dumped_with)}", max(server, dumped_with))
        )
    return found[major]


def find_server_programs(major: int) -> Path | None:
    """Return the folder with the programs of a server of this version, pgvector included, if there is one."""
    folders = [*_wheel_folders(), *_system_folders()]
    for folder in folders:
        if read_major(folder / "postgres") == major:
            return folder
    return None


def read_major(program: Path) -> int | None:
    """Return the major version that a program of PostgreSQL says it is of; None where it does not run."""
    try:
        answer = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    number = re.search(r"\(PostgreSQL\) (\d+)", answer.stdout)
    return int(number[1]) if number and answer.returncode == 0 else None


def _find(name: str) -> dict[int, Path]:
    """What there is, by version: on PATH before elsewhere."""
    on_path = shutil.which(name)
    candidates = [Path(on_path)] if on_path else []
    candidates += [folder / name for folder in (*_system_folders(), *_wheel_folders())]
    found: dict[int, Path] = {}
    for program in candidates:
        if program.is_file() and (major := read_major(program)) is not None:
            found.setdefault(major, program)
    return found


def _system_folders() -> list[Path]:
    return [folder for pattern in _SYSTEM for folder in sorted(Path("/").glob(pattern.lstrip("/")), reverse=True)]


def _wheel_folders() -> list[Path]:
    try:
        folders = {bundled_programs(), *(bundled_programs(major) for major in range(MAJOR - 3, MAJOR))}
    except RuntimeError:
        return []
    return sorted(folder for folder in folders if folder.is_dir())


def _lacking(name: str, found: Mapping[int, Path], needed: str, package: int) -> str:
    there = f"found: {', '.join(map(str, sorted(found)))}" if found else "none was found"
    return (
        f"{name} {needed} is needed ({there}). Install it and have it on PATH; "
        f"on Debian and Ubuntu it is in postgresql-client-{package}."
    )
