"""``manage.py upgrade``: bring the data of an installation to this version; the last step of ``make upgrade``."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import Tags
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser
from django.db import DEFAULT_DB_ALIAS
from django.utils import timezone

from apps.backup.bringing_over import bring_over, is_of_another_version, name_backup
from apps.backup.database import Database, read_migrations
from apps.backup.dumping import InstallationKey, write_backup
from apps.backup.management.commands.upgrade_database import describe
from apps.backup.progress import show_bar
from apps.backup.restoring import list_known_migrations
from apps.backup.running import check_nobody_uses
from apps.backup.telling import told_errors
from apps.backup.types import BackupError, find_unknown
from apps.core.catalogs import compile_catalogs
from apps.core.db import disconnect
from apps.core.version import VERSION
from apps.embedded.services import (
    DataLayout,
    get_missing_servers,
    hold_installation,
    hold_servers,
)


class Command(BaseCommand):
    help = (
        "Bring the data to this version: take a backup, bring the embedded database to the installed PostgreSQL, "
        "migrate, and check. Nothing else may be running. Killed at any point, it can be repeated."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--backed-up", action="store_true", help="take no backup; there is one")

    def handle(self, *args: Any, backed_up: bool, **options: Any) -> None:
        layout = DataLayout.at(settings.DATA_DIR)
        missing = get_missing_servers()
        with told_errors(interrupted="Interrupted. Run it again."), hold_installation(layout):
            if "postgres" in missing and is_of_another_version(layout):
                key = InstallationKey(settings.SECRET_KEY, include=True)
                with show_bar() as bar:
                    done = bring_over(layout, key=key, now=timezone.now(), bar=bar)
                self.stdout.write(describe(done))
                backed_up = True
            with hold_servers(layout.root, names=missing):
                self._upgrade(layout, backed_up=backed_up)

    def _upgrade(self, layout: DataLayout, *, backed_up: bool) -> None:
        database = Database.of_django()
        check_nobody_uses(database)
        with database.connect() as connection:
            applied = read_migrations(connection)
        unknown = find_unknown(applied, list_known_migrations())
        if unknown:
            raise BackupError(f"The data is of a newer version of Jiyi than {VERSION}: it has {unknown[0]}.")
        if applied and not backed_up:
            now = timezone.now()
            path = name_backup(layout, "before-upgrade", now)
            key = InstallationKey(settings.SECRET_KEY, include=True)
            with show_bar() as bar:
                write_backup(path, database=database, key=key, now=now, bar=bar)
            self.stdout.write(f"Backup: {path}")
        call_command("migrate", interactive=False, verbosity=1, stdout=self.stdout)
        compile_catalogs(settings.LOCALE_PATHS)
        self.check(tags=[Tags.database], databases=[DEFAULT_DB_ALIAS])
        disconnect()
        self.stdout.write(f"The data is of Jiyi {VERSION}. Start it again.")
