"""Bringing the embedded database to a newer PostgreSQL: dumped with the old one's programs, loaded into a new cluster.

The old folder is kept under another name. Killed at any point, it is done again by the same command.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from apps.backup.archive import Archive
from apps.backup.database import Database
from apps.backup.dumping import InstallationKey, write_backup
from apps.backup.loading import load
from apps.backup.programs import find_server_programs, read_major
from apps.backup.progress import Bar
from apps.backup.types import BackupError
from apps.embedded.services import (
    MAJOR,
    DataLayout,
    database_url,
    hold_old_server,
    hold_servers,
    measure_state,
    read_cluster_major,
    swap_in,
)

_NOTE = "before-upgrade.json"


@dataclass(frozen=True, slots=True)
class BroughtOver:
    """From which version, from which backup, and where the old cluster is now."""

    before: int
    backup: Path
    kept: Path


def is_of_another_version(layout: DataLayout) -> bool:
    """Whether there is an embedded database, and it is not of the version that is installed."""
    return read_cluster_major(layout) not in (None, MAJOR)


def bring_over(
    layout: DataLayout,
    *,
    key: InstallationKey,
    now: datetime,
    bar: Bar,
    programs: Path | None = None,
    backup: Path | None = None,
) -> BroughtOver:
    """Bring the cluster over; `programs`: the folder of the old version's, looked for where None is given.

    `backup`: one from which the data is taken instead; without it, one that nothing was written after, else a new one.
    `BackupError`, `ServersUnavailable` and `InstallationInUse` leave the old cluster where it was.
    """
    before = read_cluster_major(layout)
    assert before is not None, "the caller has looked"
    if before > MAJOR:
        raise BackupError(
            f"{layout.state('postgres')} is of PostgreSQL {before}, which is newer than this one ({MAJOR}). "
            "Install the version of Jiyi that made it."
        )
    source = (
        backup or find_current_backup(layout) or _dump(layout, before, programs=programs, key=key, now=now, bar=bar)
    )
    archive = Archive(source)
    bar.expect(archive.size, "Checking")
    archive.verify(bar.advance)
    shutil.rmtree(layout.brought_over, ignore_errors=True)
    with hold_servers(layout.brought_over, names=["postgres"]):
        load(archive, Database.at(database_url(layout.brought_over)), bar=bar)
    kept = swap_in(layout)
    shutil.rmtree(layout.brought_over, ignore_errors=True)
    return BroughtOver(before=before, backup=source, kept=kept)


def name_backup(layout: DataLayout, reason: str, now: datetime) -> Path:
    """Return a new name in the folder of backups, which is made."""
    layout.backups.mkdir(mode=0o700, parents=True, exist_ok=True)
    return layout.backups / f"{reason}-{now:%Y%m%d-%H%M%S}.tar"


def note_backup(layout: DataLayout, backup: Path) -> None:
    """Note that this backup holds everything, as long as no server runs on the cluster again."""
    note = {"backup": backup.name, "state": measure_state(layout)}
    draft = layout.backups / f".{_NOTE}"
    draft.write_text(json.dumps(note))
    draft.replace(layout.backups / _NOTE)


def find_current_backup(layout: DataLayout) -> Path | None:
    """Return the noted backup if nothing can have been written since; None otherwise."""
    try:
        note = json.loads((layout.backups / _NOTE).read_text())
        backup = layout.backups / str(note["backup"])
        return backup if note["state"] == measure_state(layout) and backup.is_file() else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _dump(
    layout: DataLayout, before: int, *, programs: Path | None, key: InstallationKey, now: datetime, bar: Bar
) -> Path:
    if programs and read_major(programs / "postgres") != before:
        raise BackupError(f"{programs} does not hold the programs of PostgreSQL {before}.")
    folder = programs or find_server_programs(before)
    if folder is None:
        raise BackupError(
            f"The programs of PostgreSQL {before} are needed to read {layout.state('postgres')}. Install them with "
            f"pgvector (on Debian and Ubuntu postgresql-{before} and postgresql-{before}-pgvector) and run "
            "`manage.py upgrade_database --programs FOLDER`, or give a backup that was made before: "
            "`manage.py upgrade_database --from FILE`."
        )
    path = name_backup(layout, f"before-postgresql-{MAJOR}", now)
    try:
        with hold_old_server(layout, programs=folder):
            write_backup(path, database=Database.at(database_url(layout.root)), key=key, now=now, bar=bar)
    except RuntimeError as error:  # it did not start
        raise BackupError(str(error)) from error
    note_backup(layout, path)
    return path
