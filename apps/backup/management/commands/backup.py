"""``manage.py backup FILE``: the whole installation in one file, while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from apps.accounts.services.ledger import format_record
from apps.backup.archive import check_free, write_backup, write_file
from apps.backup.erasures import read_erasures
from apps.backup.postgresql import Database, told_errors


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

    def handle(
        self, *args: Any, file: Path, force: bool, without_key: bool, erasures_only: bool, **options: Any
    ) -> None:
        with told_errors(interrupted="Interrupted. Nothing was written."):
            check_free(file, force=force)
            if erasures_only:
                records = read_erasures()
                with write_file(file, force=force) as output:
                    output.writelines(f"{format_record(record)}\n".encode() for record in records)
                self.stdout.write(f"{file}: {len(records):,} erasures and deletions")
                return
            manifest = write_backup(
                file,
                database=Database.of_django(),
                key=settings.SECRET_KEY,
                include_key=not without_key,
                now=timezone.now(),
                force=force,
            )
        self.stdout.write(f"{file}: {file.stat().st_size:,} bytes")
        if without_key:
            self.stdout.write(
                f"The file does not hold the signing key (fingerprint {manifest.key}). Keep the key elsewhere: without "
                "it, connected models' keys and secrets of service tokens cannot be read after a restore."
            )
        else:
            self.stdout.write("The file holds the signing key: whoever has it can read everything. Keep it safe.")
