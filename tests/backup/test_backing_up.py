"""The file of a backup: whole or not there, and what has changed in it is seen; and the programs that make it."""

from __future__ import annotations

import errno
import json
import stat
import zipfile
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from apps.backup.archive import DUMP, KEY, MANIFEST, Archive, write_file
from apps.backup.postgresql import BackupError, find_program
from apps.backup.restoring import find_unknown_migrations
from apps.core.secret_key import fingerprint

WHOLE = {
    DUMP: "PGDMP" * 50,
    KEY: "a key",
    MANIFEST: json.dumps(
        {
            "version": "0.1.0",
            "created_at": "2026-11-25T08:30:00+00:00",
            "server": 18,
            "programs": 18,
            "migrations": ["accounts.0001_initial"],
            "key": "0123456789abcdef",
        }
    ),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "backup.zip"


def write(path: Path, *, parts: dict[str, str] = WHOLE) -> bytes:
    with zipfile.ZipFile(path, "w") as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return path.read_bytes()


@pytest.mark.long
def test_every_changed_byte_is_seen_or_means_nothing(path: Path) -> None:
    whole = write(path)
    before = Archive.open(path)
    seen = 0
    for position in range(len(whole)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        try:
            assert Archive.open(path) == before
        except BackupError:
            seen += 1
        else:
            assert zipfile.ZipFile(path).read(DUMP).decode() == WHOLE[DUMP]
    assert seen > sum(map(len, WHOLE.values()))


def test_every_cut_is_seen(path: Path) -> None:
    whole = write(path)
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(BackupError, match="damaged"):
            Archive.open(path)


@pytest.mark.parametrize("missing", [DUMP, MANIFEST])
def test_a_zip_of_something_else_is_no_backup(path: Path, missing: str) -> None:
    write(path, parts={name: content for name, content in WHOLE.items() if name != missing})
    with pytest.raises(BackupError, match="no backup of Jiyi"):
        Archive.open(path)


def test_a_file_appears_when_it_is_complete_and_only_its_owner_reads_it(path: Path) -> None:
    with pytest.raises(BackupError, match=f"^{path}: No space left on device$"), write_file(path):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert list(path.parent.iterdir()) == []
    with write_file(path) as file:
        file.write(b"whole")
        assert not path.exists()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(BackupError, match="is there already"), write_file(path):
        pass
    with write_file(path, force=True) as file:
        file.write(b"newer")
    assert path.read_bytes() == b"newer"


def make_program(folder: Path, name: str, major: int, *, then: str = "") -> None:
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "{name} (PostgreSQL) {major}.1" && exit\n{then}\n')
    program.chmod(0o755)


def test_the_oldest_program_that_is_new_enough_is_taken(tmp_path: Path) -> None:
    folders = [tmp_path / str(major) for major in (18, 15, 16)]
    for folder in folders:
        make_program(folder, "pg_dump", int(folder.name))
    assert find_program("pg_dump", 16, folders=folders) == (tmp_path / "16" / "pg_dump", 16)
    assert find_program("pg_dump", 17, folders=folders) == (tmp_path / "18" / "pg_dump", 18)
    with pytest.raises(BackupError, match=r"pg_dump of PostgreSQL 19 .*found: 15, 16, 18.*postgresql-client-19"):
        find_program("pg_dump", 19, folders=folders)


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_a_backup_says_what_it_holds_and_one_that_fails_is_not_there(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*arguments: str) -> str:
        output = StringIO()
        call_command("backup", *arguments, stdout=output)
        return output.getvalue()

    assert "Keep it safe" in run(str(path))
    archive = Archive.open(path)
    manifest = archive.manifest
    assert find_unknown_migrations(manifest.migrations) == []
    assert manifest.server == manifest.programs == 18
    assert archive.key is not None
    assert manifest.key == fingerprint(archive.key)
    assert zipfile.ZipFile(path).read(DUMP).startswith(b"PGDMP")
    assert "does not hold the signing key" in run(str(path), "--without-key", "--force")
    assert Archive.open(path).key is None
    errors = 'echo half; echo "pg_dump: error: out of luck" >&2; echo "pg_dump: detail: 上海" >&2; exit 1'
    make_program(tmp_path / "bin", "pg_dump", 18, then=errors)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    with pytest.raises(CommandError, match=r"^pg_dump failed: out of luck$"):
        run(str(tmp_path / "other.zip"))
    assert {file.name for file in tmp_path.iterdir()} == {"backup.zip", "bin"}
