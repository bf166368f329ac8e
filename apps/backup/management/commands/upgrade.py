"""``manage.py upgrade``: bring the data of an installation to this version; the last step of ``make upgrade``."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import Tags
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser
from django.db import DEFAULT_DB_ALIAS
from django.utils import timezone

from apps.backup.postgresql import BackupError, Database, told_errors
from apps.backup.restoring import check_nobody_uses, find_unknown_migrations
from apps.backup.upgrading import back_up, is_of_another_version, upgrade_cluster
from apps.core.db import disconnect
from apps.core.management.commands.compilemessages import compile_catalogs
from apps.core.version import VERSION
from apps.embedded.layout import DataLayout, hold_installation
from apps.embedded.servers import get_missing_servers, hold_servers


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
                self.stdout.write(upgrade_cluster(layout, now=timezone.now()))
                backed_up = True
            with hold_servers(layout.root, names=missing):
                self._upgrade(layout, backed_up=backed_up)

    def _upgrade(self, layout: DataLayout, *, backed_up: bool) -> None:
        database = Database.of_django()
        check_nobody_uses(database)
        applied = database.list_migrations()
        if unknown := find_unknown_migrations(applied):
            raise BackupError(f"The data is of a newer version of Jiyi than {VERSION}: it has {unknown[0]}.")
        if applied and not backed_up:
            path = back_up(layout, database, reason="before-upgrade", now=timezone.now())
            self.stdout.write(f"Backup: {path}")
        call_command("migrate", interactive=False, verbosity=1, stdout=self.stdout)
        compile_catalogs(settings.LOCALE_PATHS)
        self.check(tags=[Tags.database], databases=[DEFAULT_DB_ALIAS])
        disconnect()
        self.stdout.write(f"The data is of Jiyi {VERSION}. Start it again.")
