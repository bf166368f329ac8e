"""``manage.py upgrade_database``: bring the embedded database to the PostgreSQL that this version of Jiyi has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from apps.backup.archive import Archive
from apps.backup.bringing_over import BroughtOver, bring_over, is_of_another_version
from apps.backup.dumping import InstallationKey
from apps.backup.progress import show_bar
from apps.backup.telling import told_errors
from apps.embedded.services import MAJOR, DataLayout, hold_installation


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
            if backup and not yes:
                self._confirm(Archive(backup))
            key = InstallationKey(settings.SECRET_KEY, include=True)
            with show_bar() as bar:
                done = bring_over(layout, key=key, now=timezone.now(), bar=bar, programs=programs, backup=backup)
        self.stdout.write(describe(done))

    def _confirm(self, archive: Archive) -> None:
        made = archive.manifest.created_at
        self.stdout.write(f"What was written after {made:%Y-%m-%d %H:%M} UTC is not in this backup.")
        try:
            answer = input("Type yes to take the data from it: ")
        except EOFError:
            answer = ""
        if answer != "yes":
            raise CommandError("Nothing was changed.")


def describe(done: BroughtOver) -> str:
    """Return what was done, and what may be deleted."""
    return (
        f"PostgreSQL {done.before} → {MAJOR}. The old database is kept in {done.kept}, and a backup of it in "
        f"{done.backup}; delete them when all is well."
    )
