"""``make upgrade``'s steps on installations with data: nothing is lost, whenever they are killed. All of it is long."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from apps.backup.archive import Archive
from apps.embedded.keeper import hold_old_server
from apps.embedded.layout import database_url, hold_installation
from tests.backup.conftest import Made
from tests.backup.installations import OLD_MAJOR, Installation, copy, make_old_cluster
from tests.support.processes import wait_until

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

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
