"""``manage.py upgrade_database``: bring the embedded database to the PostgreSQL that this version of Jiyi has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from apps.backup.archive import Archive
from apps.backup.postgresql import told_errors
from apps.backup.upgrading import is_of_another_version, upgrade_cluster
from apps.embedded.layout import DataLayout, hold_installation
from apps.embedded.postgres import MAJOR


class Command(BaseCommand):
    help = (
        "Bring the embedded database to the installed PostgreSQL: it is dumped with the programs of the old version "
        "and loaded into a new folder. The old folder is kept. Does nothing where the versions are the same."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--programs", type=Path, help="folder of the old version's programs (postgres, pg_dump, …)")
        parser.add_argument("--from", dest="backup", type=Path, help="take the data from this backup instead")
        parser.add_argument("--yes", action="store_true", help="do not ask for confirmation (with --from)")

    def handle(self, *args: Any, programs: Path | None, backup: Path | None, yes: bool, **options: Any) -> None:
        layout = DataLayout.at(settings.DATA_DIR)
        with told_errors(interrupted="Interrupted. Nothing was changed."), hold_installation(layout):
            if not is_of_another_version(layout):
                self.stdout.write(f"There is nothing to do: PostgreSQL {MAJOR}.")
                return
            archive = Archive.open(backup) if backup else None
            if archive and not yes:
                self._confirm(archive)
            done = upgrade_cluster(layout, now=timezone.now(), programs=programs, backup=archive)
        self.stdout.write(done)

    def _confirm(self, archive: Archive) -> None:
        made = archive.manifest.created_at
        self.stdout.write(f"What was written after {made:%Y-%m-%d %H:%M} UTC is not in this backup.")
        try:
            answer = input("Type yes to take the data from it: ")
        except EOFError:
            answer = ""
        if answer != "yes":
            raise CommandError("Nothing was changed.")
