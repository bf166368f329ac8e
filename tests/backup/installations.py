"""Installations of their own for the long tests: data folders with embedded servers, and commands run in them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from apps.backup.postgresql import find_server_programs
from apps.embedded.layout import DataLayout, database_url
from apps.embedded.postgres import FIRST_STATEMENTS
from apps.embedded.process import get_account, make_private_folder, spawn
from apps.embedded.servers import hold_servers

PROJECT = Path(__file__).resolve().parents[2]
# The older PostgreSQL that the wheel brings, too.
OLD_MAJOR = 16

FILL = """
import json
from datetime import UTC, datetime
from apps.accounts.models import User
from apps.conversations.recordings import record_turns
from apps.conversations.sessions import create_session
from apps.conversations.types import RecordedMessage
from apps.memory.entries import create_memory
from apps.memory.lifecycle import create_atomic_memory

now = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
made = {}
for name in NAMES:
    user = User.objects.create_user(name, password="correct horse battery")
    session = create_session(user=user, title=name)
    said = [RecordedMessage(role="user", content=f"{name} 喜欢蓝色"), RecordedMessage(role="assistant", content="好")]
    record_turns(user=user, session_id=session.id, messages=said, idempotency_key="", now=now)
    memory, _ = create_memory(user=user, category="preference", key="颜色", value=f"{name} 蓝色", now=now)
    create_atomic_memory(user=user, content=f"{name} has a cat.", now=now)
    made[name] = {"session": str(session.id), "memory": str(memory.id)}
print(json.dumps(made))
"""


@dataclass(frozen=True)
class Installation:
    """A data folder. `url`: of an external database, where it has one."""

    folder: Path
    url: str = ""

    @property
    def layout(self) -> DataLayout:
        return DataLayout.at(self.folder)

    @property
    def environment(self) -> dict[str, str]:
        nothing = dict.fromkeys(("REDIS_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "SECRET_KEY", "HOST", "PORT"), "")
        given = {"DATABASE_URL": self.url, "JIYI_DATA_DIR": str(self.folder), "LOG_LEVEL": "ERROR"}
        return {**os.environ, **nothing, **given}

    def run(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run Python with these arguments; `more`: variables of its environment."""
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=PROJECT,
            env={**self.environment, **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=800,
        )

    def do(self, *arguments: str, **more: str) -> str:
        """Run a command of ``manage.py``, which has to go well; returns its output."""
        result = self.run("manage.py", *arguments, **more)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    def refuse(self, *arguments: str, **more: str) -> str:
        """Run a command, which has to be refused, without a traceback; returns what it says."""
        result = self.run("manage.py", *arguments, **more)
        assert result.returncode == 1, result.stdout + result.stderr
        assert "Traceback" not in result.stderr
        return result.stderr

    def shell(self, code: str) -> str:
        return self.do("shell", "--no-imports", "-c", code)

    def fill(self, *names: str) -> dict[str, Any]:
        """Make people with conversations and memories; returns their IDs."""
        made: dict[str, Any] = json.loads(self.shell(FILL.replace("NAMES", repr(names))).splitlines()[-1])
        return made

    @contextmanager
    def start(self, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run a command for the time of the block, then kill it; what it says goes to ``output``."""
        command = [sys.executable, "manage.py", *arguments]
        with (self.folder / "output").open("wb") as output:
            process = subprocess.Popen(command, cwd=PROJECT, env=self.environment, stdout=output, stderr=output)
        with process:
            try:
                yield process
            finally:
                process.kill()

    @contextmanager
    def hold(self, database: str = "jiyi") -> Iterator[psycopg.Connection[Any]]:
        """Connect to the embedded server's database, or to one beside it, for the time of the block."""
        with (
            hold_servers(self.folder, names=["postgres"], durable=False),
            psycopg.connect(database_url(self.folder), dbname=database, autocommit=True) as connection,
        ):
            yield connection

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        with self.hold() as connection:
            return connection.execute(statement).fetchall()

    def count(self) -> dict[str, int]:
        """Count the rows of each table that holds any."""
        with self.hold() as connection:
            tables = connection.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'django_session'"
            ).fetchall()
            counts = {name: self.ask(f'SELECT count(*) FROM "{name}"')[0][0] for (name,) in tables}
        return {name: rows for name, rows in counts.items() if rows}

    def list_databases(self) -> set[str]:
        return {name for (name,) in self.ask("SELECT datname FROM pg_database WHERE NOT datistemplate")}


def copy(installation: Installation, folder: Path) -> Installation:
    """Make another installation with the same data; nothing of the first may be running."""
    folder.mkdir(parents=True)
    for name in ("postgres", "secret_key"):
        subprocess.run(["cp", "-a", installation.folder / name, folder], check=True)
    return Installation(folder)


def make_old_cluster(layout: DataLayout) -> Path:
    """Make an empty cluster as an earlier version of the product did; returns the folder of its programs."""
    programs = find_server_programs(OLD_MAJOR)
    assert programs is not None
    state = layout.state("postgres")
    account = get_account(state)
    make_private_folder(state, account=account)
    initdb: list[str | Path] = [
        programs / "initdb",
        "-D",
        state,
        "-U",
        "postgres",
        "--auth-local=trust",
        "--encoding=UTF8",
    ]
    initdb += ["--auth-local=trust", "--auth-host=scram-sha-256", "--locale=C", "--no-instructions", "--no-sync"]
    single: list[str | Path] = [programs / "postgres", "--single", "-D", state, "template1"]
    for command, statements in ((initdb, ""), (single, FIRST_STATEMENTS)):
        process = spawn(
            command,
            death_signal=signal.SIGKILL,
            account=account,
            reach=state,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        process.communicate(statements.encode())
        assert process.returncode == 0
    return programs
