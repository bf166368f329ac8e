"""Backups and restores of a database that somebody else runs: PostgreSQL 16 here, with a pg_dump 15 on PATH or none.

All of it is long; `test_programs.py` has quick tests of which programs are chosen.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from apps.backup.archive import Archive
from apps.embedded.services import DataLayout
from apps.embedded.upgrading import hold_old_server
from apps.embedded.urls import database_url
from tests.backup.conftest import Made
from tests.backup.installations import OLD_MAJOR, Installation, make_old_cluster

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The URL of its database."""
    folder = tmp_path / "server"
    folder.mkdir()
    programs = make_old_cluster(DataLayout.at(folder))
    with hold_old_server(DataLayout.at(folder), programs=programs):
        yield database_url(folder)


def test_an_external_database_is_backed_up_and_restored(server: str, made: Made, tmp_path: Path) -> None:
    external, backup = Installation(tmp_path / "external", url=server), tmp_path / "backup.tar"
    external.folder.mkdir()
    assert "the target is PostgreSQL 16" in external.refuse("restore", str(made.backup))
    external.do("migrate", "--verbosity=0")
    external.fill("mei")
    external.do("backup", str(backup))
    manifest = Archive(backup).manifest
    assert (manifest.server, manifest.programs) == (OLD_MAJOR, OLD_MAJOR)
    external.do("erase_user", "mei", "--yes")
    external.shell("from apps.accounts.models import User; User.objects.create_user('after')")
    with psycopg.connect(server, autocommit=True, application_name="somebody") as connection:
        assert "somebody on this machine" in external.refuse("restore", str(backup), "--replace", "--yes")
        connection.execute("ALTER DATABASE jiyi SET statement_timeout TO '55s'")
    external.do("restore", str(backup), "--replace", "--yes")
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


def test_a_role_that_creates_no_databases_fills_an_empty_one(server: str, tmp_path: Path) -> None:
    external, backup = Installation(tmp_path / "external", url=server), tmp_path / "backup.tar"
    external.folder.mkdir()
    external.do("migrate", "--verbosity=0")
    external.fill("mei")
    external.do("backup", str(backup))
    empty = server.removesuffix("jiyi") + "empty"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE empty")
    with psycopg.connect(server, user="postgres", autocommit=True) as connection:
        connection.execute("ALTER ROLE jiyi NOCREATEDB")
    target = Installation(external.folder, url=empty)
    target.do("restore", str(backup))
    with psycopg.connect(empty) as connection:
        assert connection.execute("SELECT username FROM accounts_user").fetchall() == [("mei",)]
    assert "may not create another beside it" in target.refuse("restore", str(backup), "--replace", "--yes")
