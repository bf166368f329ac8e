"""Backups and restores of whole installations, with the commands and servers that production has.

All of it is long. The file itself, the choice of programs and erasing again have quick tests beside this one, and
`test_backup_command.py` backs up the tests' own database.
"""

from __future__ import annotations

import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from apps.accounts.services.ledger import FILE
from apps.backup.archive import Archive
from apps.core.secret_key import get_former_keys, get_secret_key
from apps.embedded.locks import hold_installation
from apps.embedded.servers import hold_servers
from apps.embedded.urls import database_url
from tests.backup.conftest import Made
from tests.backup.installations import Installation, copy
from tests.support.processes import wait_until

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

NAMES = "SELECT username FROM accounts_user ORDER BY username"
MEMORIES = "SELECT value #>> '{}' FROM long_term_memory ORDER BY 1"


@pytest.fixture
def target(made: Made, tmp_path: Path) -> Iterator[Installation]:
    """A copy of the installation that the backup is of. Its servers run, or each command would start and stop them."""
    installation = copy(made.installation, tmp_path / "target")
    with hold_servers(installation.folder, durable=False):
        yield installation


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Installation]:
    """One in which nothing has ever been."""
    installation = Installation(tmp_path / "fresh")
    installation.folder.mkdir()
    with hold_servers(installation.folder, durable=False):
        yield installation


def test_an_empty_installation_becomes_the_one_that_was_backed_up(made: Made, fresh: Installation) -> None:
    said = fresh.do("restore", str(made.backup))
    assert f"Restored: {sum(Archive(made.backup).manifest.rows.values()):,} rows" in said
    assert fresh.count() == made.counts
    assert fresh.databases() == {"postgres", "jiyi"}
    key = get_secret_key(made.installation.folder)
    assert get_secret_key(fresh.folder) == key
    assert key not in get_former_keys(fresh.folder) != []
    check = "assert User.objects.get(username='mei').check_password('correct horse battery')"
    fresh.shell(f"from apps.accounts.models import User; {check}")


def test_data_is_replaced_only_when_told_so_and_by_its_name(made: Made, target: Installation) -> None:
    target.shell("from apps.accounts.models import User; User.objects.create_user('after')")
    assert "holds data. To replace all of it, use --replace" in target.refuse("restore", str(made.backup))
    assert "Nothing was changed" in target.refuse("restore", str(made.backup), "--replace")
    assert [name for (name,) in target.ask(NAMES)] == ["after", "lin", "mei"]
    target.do("restore", str(made.backup), "--replace", "--yes")
    assert [name for (name,) in target.ask(NAMES)] == ["lin", "mei"]
    assert target.count() == made.counts


@pytest.mark.spec("R3")
def test_what_was_erased_since_is_erased_again(made: Made, target: Installation) -> None:
    lin = made.people["lin"]
    target.do("erase_user", "mei", "--yes")
    target.shell(
        "from django.utils import timezone\n"
        "from uuid import UUID\n"
        "from apps.accounts.models import User\n"
        "from apps.conversations.sessions import delete_session\n"
        "from apps.memory.services import forget_memories\n"
        "lin = User.objects.get(username='lin')\n"
        f"forget_memories(user=lin, ids=[UUID('{lin['memory']}')], now=timezone.now())\n"
        f"delete_session(user=lin, session_id=UUID('{lin['session']}'))\n"
    )
    said = target.do("restore", str(made.backup), "--replace", "--yes")
    assert "Erased again since the backup: person " in said
    assert "conversations, 1" in said
    assert "long_term, 1" in said
    assert [name for (name,) in target.ask(NAMES)] == ["lin", "mei"]
    assert target.ask(MEMORIES) == []
    assert target.ask("SELECT count(*) FROM chat_session") == [(0,)]
    assert target.ask("SELECT content FROM atomic_memory") == [("lin has a cat.",)]
    # What was erased stays so in the backups that are made from now on.
    assert target.ask("SELECT kind FROM erasure_record ORDER BY at") == [("person",), ("session",)]


@pytest.mark.spec("R3")
@pytest.mark.parametrize("kept", ["in the folder", "elsewhere"])
def test_without_the_database_the_file_tells_who_was_erased(
    made: Made, target: Installation, fresh: Installation, tmp_path: Path, kept: str
) -> None:
    target.do("erase_user", "mei", "--yes")
    options = []
    if kept == "in the folder":
        (fresh.folder / FILE).write_bytes((target.folder / FILE).read_bytes())
    else:
        erasures = tmp_path / "erasures.jsonl"
        assert "1 erasures" in target.do("backup", "--erasures-only", str(erasures))
        assert stat.S_IMODE(erasures.stat().st_mode) == 0o600
        assert "mei" not in erasures.read_text()
        options = ["--erasures", str(erasures)]
    said = fresh.do("restore", str(made.backup), *options)
    assert "Erased again since the backup: person " in said
    assert fresh.ask(MEMORIES) == [("lin 蓝色",)]


def test_one_that_is_killed_anywhere_has_changed_nothing_and_is_repeated(made: Made, target: Installation) -> None:
    """Killed while the new database is made, filled, has been filled, and as the old one has been replaced."""
    target.shell("from apps.accounts.models import User; User.objects.create_user('after')")
    before = target.count()
    restore = ("restore", str(made.backup), "--replace", "--yes")
    in_new = "SELECT FROM pg_stat_activity WHERE datname = 'jiyi_restoring'"
    moments = {
        "made": "SELECT FROM pg_database WHERE datname = 'jiyi_restoring'",
        "filling": f"{in_new} AND application_name = 'psql'",
        "counting": f"{in_new} AND application_name = 'jiyi-backup'",
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
    assert target.databases() == {"postgres", "jiyi"}


def test_a_backup_of_everything_while_it_is_written_to_is_of_one_moment(made: Made, target: Installation) -> None:
    backup = target.folder / "busy.tar"
    stop = threading.Event()

    def write() -> None:
        with psycopg.connect(database_url(target.folder), autocommit=True) as connection:
            while not stop.is_set():
                with connection.transaction():
                    connection.execute("INSERT INTO one DEFAULT VALUES")
                    connection.execute("INSERT INTO two DEFAULT VALUES")

    with target.hold() as connection:
        connection.execute("CREATE TABLE one (n bigserial); CREATE TABLE two (n bigserial)")
        writers = [threading.Thread(target=write) for _ in range(4)]
        for writer in writers:
            writer.start()
        try:
            target.do("backup", str(backup))
        finally:
            stop.set()
            for writer in writers:
                writer.join()
    rows = Archive(backup).manifest.rows
    assert rows["one"] == rows["two"] > 0
    target.do("restore", str(backup), "--replace", "--yes")
    assert target.ask("SELECT (SELECT count(*) FROM one), (SELECT count(*) FROM two)") == [(rows["one"], rows["one"])]


def test_nothing_is_restored_while_anything_runs(made: Made, target: Installation) -> None:
    restore = ("restore", str(made.backup), "--replace", "--yes")
    with hold_installation(target.layout):
        assert "is already running" in target.refuse(*restore)
    with target.hold():
        assert "is in use (1 connections" in target.refuse(*restore)
    assert target.count() == made.counts


def test_a_bad_file_changes_nothing(made: Made, target: Installation, tmp_path: Path) -> None:
    bad = tmp_path / "bad.tar"
    whole = made.backup.read_bytes()
    bad.write_bytes(whole[: len(whole) // 2])
    assert "damaged" in target.refuse("restore", str(bad), "--replace", "--yes")
    bad.write_bytes(whole[:5_000] + b"x" + whole[5_001:])
    assert "database.dump has changed. Nothing was restored" in target.refuse("restore", str(bad), "--replace", "--yes")
    assert "No such file" in target.refuse("restore", str(tmp_path / "none.tar"))
    assert target.count() == made.counts


def test_one_of_a_newer_version_is_refused(made: Made, target: Installation, tmp_path: Path) -> None:
    newer = tmp_path / "newer.tar"
    with target.hold() as connection:
        connection.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('memory', '9999_new', now())")
    target.do("backup", str(newer))
    said = target.refuse("restore", str(newer), "--replace", "--yes")
    assert "newer version of Jiyi" in said
    assert "memory.9999_new" in said


def test_without_the_key_it_is_told_and_has_to_be_wanted(made: Made, fresh: Installation, tmp_path: Path) -> None:
    without = tmp_path / "without.tar"
    said = made.installation.do("backup", str(without), "--without-key")
    assert "does not hold the signing key" in said
    assert "cannot be read" in fresh.refuse("restore", str(without))
    assert fresh.databases() == {"postgres", "jiyi"}
    key = get_secret_key(made.installation.folder)
    assert "Set SECRET_KEY to the backup's" in fresh.refuse("restore", str(made.backup), SECRET_KEY="another")
    fresh.do("restore", str(without), "--without-key")
    assert get_secret_key(fresh.folder) != key
    again = Installation(tmp_path / "again")
    again.do("restore", str(without), SECRET_KEY=key)
    assert fresh.count() == again.count() == made.counts
