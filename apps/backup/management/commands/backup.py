"""``manage.py backup FILE``: the whole installation in one file, while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from apps.backup.archive import check_free
from apps.backup.database import Database
from apps.backup.dumping import InstallationKey, write_backup
from apps.backup.erasures import read_erasures, write_erasures
from apps.backup.progress import show_bar
from apps.backup.telling import told_errors
from apps.core.db import disconnect


class Command(BaseCommand):
    help = (
        "Write a backup of the whole installation to FILE (mode 600): the database as it is at one moment, and the "
        "signing key. Everything may go on running. FILE appears when it is complete."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
        parser.add_argument(
            "--without-key",
            action="store_true",
            help="leave the signing key out; keep it yourself, as connected models' keys are encrypted with it",
        )
        parser.add_argument(
            "--erasures-only",
            action="store_true",
            help="write only what was erased and deleted, as digests and IDs, to be given to restore --erasures",
        )

    def handle(self, *args: Any, file: Path, force: bool, **options: Any) -> None:
        disconnect()
        database = Database.of_django()
        with told_errors(interrupted="Interrupted. Nothing was written."):
            check_free(file, force=force)
            if options["erasures_only"]:
                with database.connect() as connection:
                    records = read_erasures(connection)
                written = write_erasures(file, records, force=force)
                self.stdout.write(f"{file}: {written:,} erasures and deletions")
                return
            key = InstallationKey(settings.SECRET_KEY, include=not options["without_key"])
            with show_bar() as bar:
                manifest = write_backup(file, database=database, key=key, now=timezone.now(), bar=bar, force=force)
        rows = sum(manifest.rows.values())
        self.stdout.write(f"{file}: {rows:,} rows of {len(manifest.rows)} tables, {file.stat().st_size:,} bytes")
        if manifest.has_key:
            self.stdout.write("The file holds the signing key: whoever has it can read everything. Keep it safe.")
        else:
            self.stdout.write(
                f"The file does not hold the signing key (fingerprint {manifest.key}). Keep the key elsewhere: without "
                "it, connected models' keys and secrets of service tokens cannot be read after a restore."
            )
