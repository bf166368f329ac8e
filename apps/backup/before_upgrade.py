"""``python -m apps.backup.before_upgrade``: the backup that ``make upgrade`` takes before it installs anything.

It runs new code in the environment of the old version, so it does without the apps: what they need may not be
installed yet.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime

from django.conf import settings

from apps.backup.bringing_over import is_of_another_version, name_backup, note_backup
from apps.backup.database import Database, list_sessions, read_migrations
from apps.backup.dumping import InstallationKey, write_backup
from apps.backup.progress import show_bar
from apps.backup.types import BackupError
from apps.embedded.services import (
    DataLayout,
    InstallationInUse,
    ServersUnavailable,
    get_missing_servers,
    hold_installation,
    hold_servers,
    read_cluster_major,
)


def back_up() -> str:
    """Take the backup; returns what to tell. `BackupError` and others: nothing may go on."""
    layout = DataLayout.at(settings.DATA_DIR)
    missing = [name for name in get_missing_servers() if name == "postgres"]
    if missing and read_cluster_major(layout) is None:
        return "There is no data yet."
    if missing and is_of_another_version(layout):
        return "The database is of another PostgreSQL: a backup is made when it is brought over."
    now = datetime.now(UTC)
    with hold_installation(layout):
        with hold_servers(layout.root, names=missing):
            database = Database.of_django()
            with database.connect() as connection:
                sessions = list_sessions(connection, database.name)
                if sessions:
                    users = ", ".join(sorted(set(sessions)))
                    raise BackupError(f"The database is in use ({users}). Stop everything before upgrading.")
                if not read_migrations(connection):
                    return "There is no data yet."
            path = name_backup(layout, "before-upgrade", now)
            with show_bar() as bar:
                key = InstallationKey(settings.SECRET_KEY, include=True)
                write_backup(path, database=database, key=key, now=now, bar=bar)
        note_backup(layout, path)
    return f"Backup: {path}"


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")
    try:
        print(back_up())  # noqa: T201
    except (BackupError, InstallationInUse, ServersUnavailable) as error:
        sys.exit(f"{error}\nNothing was upgraded.")


if __name__ == "__main__":
    main()
