"""Which pg_dump and which pg_restore fit a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from apps.backup import programs
from apps.backup.programs import choose_to_dump, choose_to_restore, find_pg_dump, find_pg_restore
from apps.backup.types import BackupError
from apps.embedded.services import bundled_programs


@pytest.mark.parametrize(
    ("found", "server", "chosen"),
    [([15, 16, 18], 16, 16), ([15, 17, 18], 16, 17), ([15], 16, None), ([], 18, None)],
)
def test_a_dump_is_made_by_the_servers_own_version_or_the_next(
    found: list[int], server: int, chosen: int | None
) -> None:
    assert choose_to_dump(found, server=server) == chosen


@pytest.mark.parametrize(
    ("found", "server", "dumped_with", "chosen"),
    [
        ([16, 17, 18], 17, 16, 17),
        ([16, 18], 18, 16, 18),
        ([16], 18, 16, 16),
        ([17, 18], 16, 16, None),  # they set transaction_timeout, which 16 does not know
        ([16, 17], 17, 18, None),  # they cannot read what 18 wrote
        ([18], 17, 18, 18),
    ],
)
def test_a_dump_is_restored_by_what_reads_it_and_what_the_server_understands(
    found: list[int], server: int, dumped_with: int, chosen: int | None
) -> None:
    assert choose_to_restore(found, server=server, dumped_with=dumped_with) == chosen


def test_the_wheel_has_the_programs_of_the_embedded_server() -> None:
    program, major = find_pg_dump(server=18)
    assert (program.name, major) == ("pg_dump", 18)
    assert find_pg_restore(server=18, dumped_with=18).name == "pg_restore"
    assert programs.find_server_programs(16) == bundled_programs(16)


def test_what_is_missing_is_named_with_where_it_is_to_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(programs, "_SYSTEM", ())
    monkeypatch.setattr(programs, "_wheel_folders", list)
    with pytest.raises(BackupError, match=r"pg_dump of PostgreSQL 17 or newer .*none was found.*postgresql-client-17"):
        find_pg_dump(server=17)
    old = tmp_path / "pg_dump"
    old.write_text("#!/bin/sh\necho 'pg_dump (PostgreSQL) 15.18 (Debian)'\n")
    old.chmod(0o755)
    with pytest.raises(BackupError, match=r"\(found: 15\)"):
        find_pg_dump(server=17)
