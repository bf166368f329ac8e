"""``manage.py backup`` of the tests' own database."""

from __future__ import annotations

import stat
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from apps.backup.archive import Archive
from apps.backup.progress import NoBar
from apps.backup.restoring import list_known_migrations
from apps.core.secret_key import fingerprint
from apps.memory.services import create_memory
from tests.support.factories import UserFactory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]


def run(*arguments: str) -> str:
    output = StringIO()
    call_command("backup", *arguments, stdout=output)
    return output.getvalue()


def test_a_backup_holds_everything_and_says_what(tmp_path: Path, settings: object) -> None:
    user = UserFactory.create(username="mei")
    create_memory(user=user, category="fact", key="home", value="上海", now=timezone.now())
    path = tmp_path / "backup.tar"
    said = run(str(path))
    archive = Archive(path)
    archive.verify(NoBar().advance)
    manifest = archive.manifest
    assert said.startswith(f"{path}: {sum(manifest.rows.values()):,} rows of {len(manifest.rows)} tables, ")
    assert "Keep it safe" in said
    assert manifest.rows["accounts_user"] == manifest.rows["long_term_memory"] == 1
    assert manifest.migrations <= list_known_migrations()
    assert manifest.server == manifest.programs == 18
    assert archive.key is not None
    assert manifest.key == fingerprint(archive.key)
    assert archive.read("database.dump").startswith(b"PGDMP")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(CommandError, match="is there already"):
        run(str(path))


def test_without_the_key_it_says_so(tmp_path: Path) -> None:
    path = tmp_path / "backup.tar"
    assert "does not hold the signing key" in run(str(path), "--without-key", "--force")
    assert Archive(path).key is None


def test_a_program_that_fails_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = tmp_path / "pg_dump"
    failing.write_text(
        "#!/bin/sh\n"
        '[ "$1" = --version ] && echo "pg_dump (PostgreSQL) 18.4" && exit\n'
        'echo "half a dump"; echo "pg_dump: error: out of luck" >&2; echo "pg_dump: detail: 上海" >&2; exit 1\n'
    )
    failing.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    folder = tmp_path / "backups"
    folder.mkdir()
    with pytest.raises(CommandError, match=r"^pg_dump failed: out of luck$"):
        run(str(folder / "backup.tar"))
    assert list(folder.iterdir()) == []
