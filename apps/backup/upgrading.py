"""Bringing the embedded database to a newer PostgreSQL: dumped with the old one's programs, loaded into a new cluster.

The old folder is kept under another name. Killed at any point, it is done again by the same command.

``python -m apps.backup.upgrading`` takes the backup with which ``make upgrade`` begins, before it installs anything:
new code in the environment of the old version. So this module does without the apps, whose needs may be missing.
"""

from __future__ import annotations

import os
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings

from apps.backup.archive import Archive, write_backup
from apps.backup.postgresql import BackupError, Database, find_server_programs, read_major
from apps.embedded.keeper import hold_old_server
from apps.embedded.layout import DataLayout, InstallationInUse, database_url, hold_installation
from apps.embedded.postgres import MAJOR, measure_state, swap_in
from apps.embedded.postgres import read_major as read_cluster_major
from apps.embedded.servers import ServersUnavailable, get_missing_servers, hold_servers


def is_of_another_version(layout: DataLayout) -> bool:
    """Tell whether there is an embedded database, and it is not of the version that is installed."""
    return read_cluster_major(layout) not in (None, MAJOR)


def upgrade_cluster(
    layout: DataLayout, *, now: datetime, programs: Path | None = None, backup: Archive | None = None
) -> str:
    """Bring the cluster over, and return what to tell.

    `programs`: the folder of the old version's, looked for where None is given. `backup`: one from which the data is
    taken instead; without it, one that nothing was written after, else a new one.
    `BackupError`, `ServersUnavailable` and `InstallationInUse` leave the old cluster where it was.
    """
    before = read_cluster_major(layout)
    assert before is not None, "the caller has looked"
    if before > MAJOR:
        raise BackupError(
            f"{layout.state('postgres')} is of PostgreSQL {before}, which is newer than this one ({MAJOR}). "
            "Install the version of Jiyi that made it."
        )
    archive = backup or Archive.open(_find_current_backup(layout) or _dump_cluster(layout, before, programs, now))
    shutil.rmtree(layout.brought_over, ignore_errors=True)
    with hold_servers(layout.brought_over, names=["postgres"]):
        archive.load(Database.at(database_url(layout.brought_over)))
    kept = swap_in(layout)
    shutil.rmtree(layout.brought_over, ignore_errors=True)
    return (
        f"PostgreSQL {before} → {MAJOR}. The old database is kept in {kept}, and a backup of it in {archive.path}; "
        "delete them when all is well."
    )


def back_up(layout: DataLayout, database: Database, *, reason: str, now: datetime) -> Path:
    """Write a backup with a new name to the folder of backups; returns its path."""
    layout.backups.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = layout.backups / f"{reason}-{now:%Y%m%d-%H%M%S}.zip"
    write_backup(path, database=database, key=settings.SECRET_KEY, now=now)
    return path


def back_up_installed() -> str:
    """Take the first backup of ``make upgrade``; returns what to tell. `BackupError` and others: nothing may go on."""
    layout, now = DataLayout.at(settings.DATA_DIR), datetime.now(UTC)
    missing = [name for name in get_missing_servers() if name == "postgres"]
    if missing and read_cluster_major(layout) is None:
        return "There is no data yet."
    if missing and is_of_another_version(layout):
        return "The database is of another PostgreSQL: a backup is made when it is brought over."
    with hold_installation(layout):
        with hold_servers(layout.root, names=missing):
            database = Database.of_django()
            database.check_unused()
            if not database.list_migrations():
                return "There is no data yet."
            path = back_up(layout, database, reason="before-upgrade", now=now)
        return f"Backup: {_mark_current(layout, path) if missing else path}"


def _mark_current(layout: DataLayout, backup: Path) -> Path:
    """Add the state of the cluster, whose server has stopped, to a backup's name: it holds everything, as long as no
    server runs on the cluster again.
    """
    return backup.rename(backup.with_stem(f"{backup.stem}-{measure_state(layout)[:16]}"))


def _find_current_backup(layout: DataLayout) -> Path | None:
    """Return a backup after which nothing can have been written; None where there is none."""
    return next(layout.backups.glob(f"before-*-{measure_state(layout)[:16]}.zip"), None)


def _dump_cluster(layout: DataLayout, before: int, programs: Path | None, now: datetime) -> Path:
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
    database = Database.at(database_url(layout.root))
    try:
        with hold_old_server(layout, programs=folder):
            path = back_up(layout, database, reason=f"before-postgresql-{MAJOR}", now=now)
    except RuntimeError as error:  # it did not start
        raise BackupError(str(error)) from error
    return _mark_current(layout, path)


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")
    try:
        print(back_up_installed())  # noqa: T201
    except (BackupError, InstallationInUse, ServersUnavailable) as error:
        sys.exit(f"{error}\nNothing was upgraded.")


if __name__ == "__main__":
    main()
