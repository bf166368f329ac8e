"""``make upgrade``'s steps on installations of an earlier state, with data: nothing is lost, whenever it is killed.

All of it is long. The earlier state is the newest tag before this commit, where there is one: that code, from a work
tree of its own, makes an installation and fills it. Without a tag the migrations of some weeks ago do, and rows are
written by SQL, as the models of that time are no more.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from apps.backup.archive import Archive
from apps.embedded.locks import hold_installation
from apps.embedded.servers import hold_servers
from apps.embedded.upgrading import hold_old_server
from apps.embedded.urls import database_url
from tests.backup.conftest import Made
from tests.backup.installations import OLD_MAJOR, PROJECT, Installation, copy, make_old_cluster
from tests.support.processes import wait_until

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

EARLIER = {"chat": "0005", "conversations": "0008", "memory": "0009", "doors": "0001", "accounts": "0002"}
"""Migrations to which an installation is taken where there is no tag; the others stay away, too."""

INSERTS = """
INSERT INTO accounts_user (id, username, password, first_name, last_name, email, is_superuser, is_staff, is_active,
                           date_joined, external_id, data_epoch)
SELECT n, 'person' || n, '!', '', '', '', n = 1, n = 1, true, now(), '', 0 FROM generate_series(1, 20) AS n;
INSERT INTO chat_session (id, user_id, title, last_position, temporary, created_at, last_active_at)
SELECT gen_random_uuid(), id, username || ' 对话', 200, false, now(), now() FROM accounts_user;
INSERT INTO conversation (id, session_id, user_id, role, content, create_time, is_collected, status, position, attempt,
                          from_history, stopped)
SELECT gen_random_uuid(), chat_session.id, user_id, CASE n % 2 WHEN 1 THEN 'user' ELSE 'assistant' END,
       '我喜欢蓝色 ' || n, now(), false, 'complete', n, 1, false, false
FROM chat_session, generate_series(1, 200) AS n;
INSERT INTO long_term_memory (id, user_id, category, key, value, confidence, source, status, mode, created_at,
                              updated_at, last_accessed, access_count, normalized_key, normalized_value, search_vector,
                              words)
SELECT gen_random_uuid(), id, 'fact', 'colour ' || n, '"蓝色"', 0.9, 'user', 'active', 'replace', now(), now(), now(),
       0, 'colour ' || n, '"蓝色"', 'colour', '{蓝色}'
FROM accounts_user, generate_series(1, 20) AS n;
"""


def find_tag() -> str:
    """The newest tag that this commit comes after; "" where there is none."""
    command = ["git", "describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD^"]
    found = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    return found.stdout.strip() if found.returncode == 0 else ""


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """An installation of an earlier state with data."""
    folder = tmp_path_factory.mktemp("earlier")
    folder.chmod(0o755)
    installation, tag = Installation(folder), find_tag()
    with hold_servers(folder, durable=False):
        if tag:
            tree = tmp_path_factory.mktemp("tree") / "code"
            subprocess.run(["git", "worktree", "add", "--detach", tree, tag], cwd=PROJECT, check=True)
            try:
                (tree / "frontend" / "node_modules").symlink_to(PROJECT / "frontend" / "node_modules")
                before = Installation(folder, code=tree)
                before.do("migrate", "--verbosity=0")
                before.fill("mei", "lin")
            finally:
                subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=PROJECT, check=True)
        else:
            installation.shell(
                "from django.core.management import call_command\n"
                f"for app, number in {EARLIER}.items(): call_command('migrate', app, number, verbosity=0)"
            )
            with installation.hold() as connection:
                connection.execute(INSERTS)
    return installation


@pytest.fixture
def old(earlier: Installation, tmp_path: Path) -> Installation:
    return copy(earlier, tmp_path / "old")


def back_up_first(installation: Installation) -> subprocess.CompletedProcess[str]:
    """The first step of ``make upgrade``."""
    return subprocess.run(
        [sys.executable, "-m", "apps.backup.before_upgrade"],
        cwd=PROJECT,
        env=installation.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=800,
    )


def list_texts(installation: Installation) -> set[tuple[object, ...]]:
    """What people said and what is remembered, whatever columns were added."""
    return set(
        installation.ask(
            "SELECT id, user_id, content FROM conversation "
            "UNION ALL SELECT id, user_id, value #>> '{}' FROM long_term_memory "
            "UNION ALL SELECT id, user_id, content FROM atomic_memory"
        )
    )


def test_an_earlier_state_is_upgraded_and_nothing_is_lost(old: Installation) -> None:
    texts = list_texts(old)
    assert len(texts) >= 4
    first = back_up_first(old)
    assert first.returncode == 0, first.stderr
    (backup,) = old.layout.backups.glob("before-upgrade-*.tar")
    assert str(backup) in first.stdout
    Archive(backup).verify()
    said = old.do("upgrade", "--backed-up")
    assert "Applying " in said
    assert texts <= list_texts(old)
    assert "No migrations to apply" in old.do("upgrade", "--backed-up")
    # The backup is of the earlier state, and restoring it brings it to this one.
    old.do("restore", str(backup), "--replace", "--yes")
    assert texts <= list_texts(old)


def test_one_that_is_killed_is_repeated(old: Installation) -> None:
    texts = list_texts(old)
    moments = {
        "backing up": lambda: bool(list(old.layout.backups.glob(".before-upgrade-*.partial"))),
        "migrating": lambda: "Applying " in (old.folder / "output").read_text(),
    }
    for moment, is_reached in moments.items():
        with old.start("upgrade") as process:
            wait_until(lambda: is_reached() or process.poll() is not None, seconds=200)  # noqa: B023
            assert process.poll() is None, (moment, (old.folder / "output").read_text())
            process.send_signal(signal.SIGKILL)
    old.do("upgrade")
    assert texts <= list_texts(old)
    for backup in old.layout.backups.glob("*.tar"):
        Archive(backup).verify()


def test_nothing_is_upgraded_while_anything_runs(old: Installation) -> None:
    with hold_installation(old.layout):
        assert "is already running" in old.refuse("upgrade")
        assert "Nothing was upgraded" in back_up_first(old).stderr
    with old.hold():
        assert "is in use (1 connections" in old.refuse("upgrade")
        assert "Nothing was upgraded" in back_up_first(old).stderr
    assert list(old.layout.backups.glob("*.tar")) == []


def test_a_database_of_an_older_postgresql_is_brought_over(made: Made, tmp_path: Path) -> None:
    folder = tmp_path / "old"
    folder.mkdir()
    programs = make_old_cluster(Installation(folder).layout)
    with hold_old_server(Installation(folder).layout, programs=programs):
        external = Installation(folder, url=database_url(folder))
        external.do("migrate", "--verbosity=0")
        external.fill("mei", "lin")
    old = Installation(folder)
    assert "Run `make upgrade`" in old.refuse("showmigrations")
    assert "another PostgreSQL" in back_up_first(old).stdout
    assert "does not hold the programs of PostgreSQL 16" in old.refuse("upgrade_database", "--programs", str(folder))
    with old.start("upgrade_database") as process:  # killed while the new cluster is made or filled
        wait_until(lambda: (folder / "upgrading" / "postgres").exists() or process.poll() is not None, seconds=200)
        process.kill()
    assert (folder / "postgres" / "PG_VERSION").read_text().strip() == str(OLD_MAJOR)
    said = old.do("upgrade")
    assert f"PostgreSQL {OLD_MAJOR} → 18" in said
    assert (folder / f"postgres.{OLD_MAJOR}" / "PG_VERSION").exists()
    counts = old.count()
    assert {table: counts.get(table) for table in made.counts} == made.counts
    assert "nothing to do" in old.do("upgrade_database")
