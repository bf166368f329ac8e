"""The file of a backup: whole or not there, and what has changed in it is seen."""

from __future__ import annotations

import errno
import hashlib
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from apps.backup import archive
from apps.backup.archive import DUMP, KEY, Archive, ArchiveWriter, write_file
from apps.backup.types import BackupError, Damaged, Manifest, compare_rows, find_unknown

MANIFEST = Manifest(
    version="0.1.0",
    created_at=datetime(2026, 11, 25, 8, 30, tzinfo=UTC),
    server=18,
    programs=18,
    migrations=frozenset({"accounts.0001_initial", "memory.0013_vectors_of_memories"}),
    rows={"accounts_user": 2, "long_term_memory": 3},
    key="0123456789abcdef",
    has_key=True,
)
PORTIONS = [b"PGDMP" * 1_000, b"", "记忆".encode() * 300, b"\0" * 511]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "backup.tar"


def write(path: Path, *, manifest: Manifest = MANIFEST, force: bool = False) -> None:
    with write_file(path, force=force) as file:
        writer = ArchiveWriter(file)
        writer.add(DUMP, PORTIONS)
        writer.add(KEY, [b"a key"])
        writer.finish(manifest)


def test_what_was_written_is_read(path: Path) -> None:
    write(path)
    backup = Archive(path)
    read: list[int] = []
    backup.verify(read.append)
    assert backup.manifest == MANIFEST
    assert backup.read(DUMP) == b"".join(PORTIONS)
    assert backup.key == "a key"
    assert sum(read) == backup.size == backup.dump_size + len("a key")


def test_it_is_an_ordinary_tar_that_only_its_owner_reads(path: Path) -> None:
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with tarfile.open(path) as tar:
        assert tar.getnames() == [DUMP, KEY, "manifest.json", "manifest.sha256"]
        extracted = tar.extractfile(DUMP)
        assert extracted is not None
        assert hashlib.sha256(extracted.read()).digest() == hashlib.sha256(b"".join(PORTIONS)).digest()


def test_a_size_beyond_what_tar_once_knew_fits_its_header(path: Path) -> None:
    assert tarfile.TarInfo.frombuf(archive._make_header(DUMP, 20 * 2**30), "ascii", "strict").size == 20 * 2**30


def test_nothing_is_left_of_one_that_was_not_finished(path: Path) -> None:
    def fail() -> Iterator[bytes]:
        yield b"half"
        raise RuntimeError

    with pytest.raises(RuntimeError), write_file(path) as file:
        ArchiveWriter(file).add(DUMP, fail())
    assert list(path.parent.iterdir()) == []


def test_a_full_disk_is_told_and_leaves_nothing(path: Path) -> None:
    def run_out() -> Iterator[bytes]:
        yield b"half"
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(BackupError, match=rf"^{path}: No space left on device$"), write_file(path) as file:
        ArchiveWriter(file).add(DUMP, run_out())
    assert list(path.parent.iterdir()) == []


def test_a_file_that_is_there_is_replaced_only_when_told_so(path: Path) -> None:
    path.write_text("earlier")
    with pytest.raises(BackupError, match="is there already"):
        write(path)
    assert path.read_text() == "earlier"
    write(path, force=True)
    Archive(path).verify()


@pytest.mark.parametrize(
    ("name", "reason"), [("", "is a folder"), ("missing/backup.tar", "There is no folder"), ("x" * 300, "too long")]
)
def test_where_no_file_can_be_is_told(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(BackupError, match=reason):
        write(tmp_path / name)


def test_every_changed_byte_is_seen(path: Path) -> None:
    write(path)
    whole = path.read_bytes()
    with tarfile.open(path) as tar:
        parts = [(member.offset_data, member.size) for member in tar]
    for offset, size in parts:
        for position in {offset, offset + size // 2, offset + size - 1}:
            path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
            with pytest.raises(Damaged):
                Archive(path).verify()


def test_every_cut_is_seen(path: Path) -> None:
    write(path)
    whole = path.read_bytes()
    end = len(whole) - 1_024 - 512  # the closing blocks hold nothing, nor does what fills the last part
    for length in (0, 1, 511, 512, 600, 6_000, end - 513, end - 512):
        path.write_bytes(whole[:length])
        with pytest.raises(Damaged):
            Archive(path).verify()


@pytest.mark.parametrize("content", [b"", b"no tar", b"\0" * 10_240, b"PGDMP" * 500])
def test_another_file_is_no_backup(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(Damaged):
        Archive(path)


def test_a_missing_file_is_told(path: Path) -> None:
    with pytest.raises(BackupError, match="No such file"):
        Archive(path)


def test_without_the_key_there_is_none(path: Path) -> None:
    with write_file(path) as file:
        writer = ArchiveWriter(file)
        writer.add(DUMP, PORTIONS)
        writer.finish(replace(MANIFEST, has_key=False))
    assert Archive(path).key is None


def test_a_format_of_the_future_asks_for_the_newer_version() -> None:
    text = MANIFEST.to_json({}).replace(b'"format": 1', b'"format": 2')
    with pytest.raises(BackupError, match=r"newer version of Jiyi \(0\.1\.0\)") as caught:
        Manifest.from_json(text)
    assert not isinstance(caught.value, Damaged)


def test_another_products_file_is_none_of_ours() -> None:
    with pytest.raises(Damaged, match="no backup of Jiyi"):
        Manifest.from_json(MANIFEST.to_json({}).replace(b'"jiyi"', b'"other"'))


def test_migrations_that_this_code_does_not_know_are_named() -> None:
    assert find_unknown(["a.1", "a.2", "b.1"], ["a.1", "b.1", "b.2"]) == ["a.2"]
    assert find_unknown(["a.1"], ["a.1"]) == []


def test_tables_with_other_counts_are_named() -> None:
    assert compare_rows({"a": 1, "b": 2_000, "c": 0}, {"a": 1, "b": 3}) == ["b: 3 rows instead of 2,000"]
