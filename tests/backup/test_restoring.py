"""Backups, restores and upgrades of whole installations, with production's commands and servers. All of it is long."""

from __future__ import annotations

import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from apps.accounts.services.ledger import FILE
from apps.backup.archive import Archive
from apps.core.secret_key import get_former_keys, get_secret_key
from apps.embedded.keeper import hold_old_server
from apps.embedded.layout import database_url, hold_installation
from tests.backup.conftest import Made
from tests.backup.installations import OLD_MAJOR, Installation, copy, make_old_cluster
from tests.support.processes import wait_until

pytestmark = [pytest.mark.timeout(900), pytest.mark.long]

NAMES = "SELECT username FROM accounts_user ORDER BY username"
MEMORIES = "SELECT value #>> '{}' FROM long_term_memory ORDER BY 1"


def test_an_empty_installation_becomes_the_one_that_was_backed_up(made: Made, fresh: Installation) -> None:
    fresh.do("restore", str(made.backup))
    assert fresh.count() == made.counts
    assert fresh.list_databases() == {"postgres", "jiyi"}
    key = get_secret_key(made.installation.folder)
    assert get_secret_key(fresh.folder) == key
    assert key not in get_former_keys(fresh.folder) != []
    check = "assert User.objects.get(username='mei').check_password('correct horse battery')"
    fresh.shell(f"from apps.accounts.models import User; {check}")


@pytest.mark.spec("R3")
def test_data_is_replaced_only_when_told_so_and_what_was_erased_since_is_erased_again(
    made: Made, target: Installation
) -> None:
    lin = made.people["lin"]
    target.do("erase_user", "mei", "--yes")
    target.shell(
        "from django.utils import timezone\n"
        "from uuid import UUID\n"
        "from apps.accounts.models import User\n"
        "from apps.conversations.sessions import delete_session\n"
        "from apps.memory.deletion import delete_memories\n"
        "from apps.memory.kinds import LONG_TERM\n"
        "User.objects.create_user('after')\n"
        "lin = User.objects.get(username='lin')\n"
        f"delete_memories(LONG_TERM, user=lin, ids=[UUID('{lin['memory']}')], now=timezone.now())\n"
        f"delete_session(user=lin, session_id=UUID('{lin['session']}'))\n"
    )
    assert "holds data. To replace all of it, use --replace" in target.refuse("restore", str(made.backup))
    assert "Nothing was changed" in target.refuse("restore", str(made.backup), "--replace")
    assert [name for (name,) in target.ask(NAMES)] == ["after", "lin", "mei"]
    said = target.do("restore", str(made.backup), "--replace", "--yes")
    assert "Erased again since the backup: person " in said
    assert "conversations, 1" in said
    assert "long_term, 1" in said
    assert [name for (name,) in target.ask(NAMES)] == ["lin", "mei"]
    assert target.ask(MEMORIES) == target.ask("SELECT id FROM chat_session") == []
    assert target.ask("SELECT content FROM atomic_memory") == [("lin has a cat.",)]
    # What was erased stays so in the backups that are made from now on.
    assert target.ask("SELECT kind FROM erasure_record ORDER BY at") == [("person",), ("session",)]


@pytest.mark.spec("R3")
def test_without_the_database_files_tell_who_was_erased(
    made: Made, target: Installation, fresh: Installation, tmp_path: Path
) -> None:
    erasures = tmp_path / "erasures.jsonl"
    target.do("erase_user", "mei", "--yes")
    assert "1 erasures" in target.do("backup", "--erasures-only", str(erasures))
    assert stat.S_IMODE(erasures.stat().st_mode) == 0o600
    assert "mei" not in erasures.read_text()
    said = fresh.do("restore", str(made.backup), "--erasures", str(erasures))
    assert "Erased again since the backup: person " in said
    assert fresh.ask(MEMORIES) == [("lin 蓝色",)]
    erasures.rename(target.folder / FILE)
    with target.hold() as connection:
        connection.execute("TRUNCATE erasure_record")
    assert "Erased again" in target.do("restore", str(made.backup), "--replace", "--yes")
    assert target.ask(MEMORIES) == [("lin 蓝色",)]


def test_one_that_is_killed_anywhere_has_changed_nothing_and_is_repeated(made: Made, target: Installation) -> None:
    """Killed while the new database is made, filled and migrated."""
    target.shell("from apps.accounts.models import User; User.objects.create_user('after')")
    before = target.count()
    restore = ("restore", str(made.backup), "--replace", "--yes")
    in_new = "SELECT FROM pg_stat_activity WHERE datname = 'jiyi_restoring'"
    moments = {
        "made": "SELECT FROM pg_database WHERE datname = 'jiyi_restoring'",
        "filling": f"{in_new} AND application_name = 'psql'",
        "migrating": f"{in_new} AND application_name NOT IN ('psql', 'jiyi-backup')",
    }
    for moment, condition in moments.items():
        with target.hold("postgres") as beside, target.start(*restore) as process:

            def is_reached(condition: str = condition) -> bool:
                return process.poll() is not None or beside.execute(condition).fetchone() is not None

            wait_until(is_reached, seconds=200)
            assert process.poll() is None, (moment, (target.folder / "output").read_text())
            process.kill()
        assert target.count() == before, moment
    target.do(*restore)
    assert target.count() == made.counts
    assert target.list_databases() == {"postgres", "jiyi"}


def test_what_cannot_be_restored_changes_nothing(made: Made, target: Installation, tmp_path: Path) -> None:
    restore = ("restore", str(made.backup), "--replace", "--yes")
    with hold_installation(target.layout):
        assert "is already running" in target.refuse(*restore)
    with target.hold():
        assert "is in use (1 connections" in target.refuse(*restore)
    bad, whole = tmp_path / "bad.zip", made.backup.read_bytes()
    bad.write_bytes(whole[:5_000] + b"x" + whole[5_001:])
    assert "database.dump has changed. Nothing was restored" in target.refuse("restore", str(bad), "--replace", "--yes")
    assert "No such file" in target.refuse("restore", str(tmp_path / "none.zip"))
    assert target.count() == made.counts
    newer = tmp_path / "newer.zip"
    with target.hold() as connection:
        connection.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('memory', '9999_new', now())")
    target.do("backup", str(newer))
    said = target.refuse("restore", str(newer), "--replace", "--yes")
    assert "newer version of Jiyi" in said
    assert "memory.9999_new" in said


def test_without_the_key_it_is_told_and_has_to_be_wanted(made: Made, fresh: Installation, tmp_path: Path) -> None:
    without = tmp_path / "without.zip"
    made.installation.do("backup", str(without), "--without-key")
    assert "cannot be read" in fresh.refuse("restore", str(without))
    key = get_secret_key(made.installation.folder)
    assert "unzip -p" in fresh.refuse("restore", str(made.backup), SECRET_KEY="another")
    fresh.do("restore", str(without), "--without-key")
    assert get_secret_key(fresh.folder) != key
    again = Installation(tmp_path / "again")
    again.do("restore", str(without), SECRET_KEY=key)
    assert fresh.count() == again.count() == made.counts


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The URL of a database that somebody else runs: PostgreSQL 16."""
    folder = tmp_path / "server"
    folder.mkdir()
    programs = make_old_cluster(Installation(folder).layout)
    with hold_old_server(Installation(folder).layout, programs=programs):
        yield database_url(folder)


def test_an_external_database_is_backed_up_and_restored(server: str, made: Made, tmp_path: Path) -> None:
    external, backup = Installation(tmp_path / "external", url=server), tmp_path / "backup.zip"
    external.folder.mkdir()
    assert "the target is PostgreSQL 16" in external.refuse("restore", str(made.backup))
    external.do("migrate", "--verbosity=0")
    external.fill("mei")
    external.do("backup", str(backup))
    manifest = Archive.open(backup).manifest
    assert (manifest.server, manifest.programs) == (OLD_MAJOR, OLD_MAJOR)
    external.do("erase_user", "mei", "--yes")
    restore = ("restore", str(backup), "--replace", "--yes")
    with psycopg.connect(server, autocommit=True, application_name="somebody") as connection:
        assert "somebody on this machine" in external.refuse(*restore)
        connection.execute("ALTER DATABASE jiyi SET statement_timeout TO '55s'")
    with psycopg.connect(server, user="postgres", autocommit=True) as connection:
        connection.execute("ALTER ROLE jiyi NOCREATEDB")
        assert "ALTER ROLE … CREATEDB" in external.refuse(*restore)
        connection.execute("ALTER ROLE jiyi CREATEDB")
    external.do(*restore)
    with psycopg.connect(server) as connection:
        assert connection.execute("SELECT username, data_epoch FROM accounts_user").fetchall() == [("mei", 1)]
        assert connection.execute("SHOW statement_timeout").fetchone() == ("55s",)
        names = connection.execute("SELECT datname FROM pg_database WHERE NOT datistemplate ORDER BY 1").fetchall()
        assert names == [("jiyi",), ("postgres",)]
    # An embedded one of a newer version takes it, too.
    embedded = Installation(tmp_path / "embedded")
    embedded.folder.mkdir()
    embedded.do("restore", str(backup), "--erasures", str(external.folder / "erasures.jsonl"), SECRET_KEY="")
    assert embedded.ask("SELECT username, data_epoch FROM accounts_user") == [("mei", 1)]


BACK_UP_FIRST = ("-m", "apps.backup.upgrading")


@pytest.fixture
def old(made: Made, tmp_path: Path) -> Installation:
    """An installation of an earlier state: without the tables of an app that nobody depends on."""
    installation = copy(made.installation, tmp_path / "old")
    installation.do("migrate", "connections", "zero", "--verbosity=0")
    return installation


def test_an_earlier_state_is_upgraded_and_can_be_gone_back_to(made: Made, old: Installation) -> None:
    first = old.run(*BACK_UP_FIRST)
    assert first.returncode == 0, first.stderr
    (backup,) = old.layout.backups.glob("before-upgrade-*.zip")
    assert str(backup) in first.stdout
    assert "Applying " in old.do("upgrade", "--backed-up")
    assert old.count() == made.counts
    assert "No migrations to apply" in old.do("upgrade", "--backed-up")
    # The backup is of the earlier state, and restoring it brings it to this one.
    old.do("restore", str(backup), "--replace", "--yes")
    assert old.count() == made.counts


def test_one_that_is_killed_is_repeated(made: Made, old: Installation) -> None:
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
    assert old.count() == made.counts
    for backup in old.layout.backups.glob("*.zip"):
        Archive.open(backup)


def test_nothing_is_upgraded_while_anything_runs(old: Installation) -> None:
    with hold_installation(old.layout):
        assert "is already running" in old.refuse("upgrade")
        assert "Nothing was upgraded" in old.run(*BACK_UP_FIRST).stderr
    with old.hold():
        assert "is in use (1 connections" in old.refuse("upgrade")
        assert "Nothing was upgraded" in old.run(*BACK_UP_FIRST).stderr
    assert list(old.layout.backups.glob("*.zip")) == []


def test_a_database_of_an_older_postgresql_is_brought_over(made: Made, tmp_path: Path) -> None:
    folder = tmp_path / "old"
    folder.mkdir()
    old = Installation(folder)
    programs = make_old_cluster(old.layout)
    with hold_old_server(old.layout, programs=programs):
        external = Installation(folder, url=database_url(folder))
        external.do("migrate", "--verbosity=0")
        external.fill("mei", "lin")
    assert "Run `make upgrade`" in old.refuse("showmigrations")
    assert "another PostgreSQL" in old.run(*BACK_UP_FIRST).stdout
    assert "does not hold the programs of PostgreSQL 16" in old.refuse("upgrade_database", "--programs", str(folder))
    with old.start("upgrade_database") as process:  # killed while the new cluster is made or filled
        wait_until(lambda: (folder / "upgrading" / "postgres").exists() or process.poll() is not None, seconds=200)
        process.kill()
    assert (folder / "postgres" / "PG_VERSION").read_text().strip() == str(OLD_MAJOR)
    (backup,) = old.layout.backups.glob("before-postgresql-18-*.zip")
    said = old.do("upgrade")
    assert f"PostgreSQL {OLD_MAJOR} → 18" in said
    assert str(backup) in said  # nothing was written since
    assert (folder / f"postgres.{OLD_MAJOR}" / "PG_VERSION").exists()
    counts = old.count()
    assert {table: counts.get(table) for table in made.counts} == made.counts
    assert "nothing to do" in old.do("upgrade_database")
