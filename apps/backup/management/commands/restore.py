"""``manage.py restore FILE``: put an installation back to what a backup holds, except for what was erased since."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone
from django.utils.timesince import timesince

from apps.backup.postgresql import told_errors
from apps.backup.restoring import Plan, plan_restore, restore
from apps.embedded.layout import DataLayout, hold_installation


class Command(BaseCommand):
    help = (
        "Restore FILE, written by `manage.py backup`. Nothing else may be running. What was erased since the backup "
        "was made is erased again. Until the last moment nothing changes: a restore that fails can be repeated."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--replace", action="store_true", help="replace the data that there is")
        parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
        parser.add_argument(
            "--without-key",
            action="store_true",
            help="keep this installation's key, although connected models' keys then cannot be read",
        )
        parser.add_argument(
            "--erasures",
            type=Path,
            action="append",
            default=[],
            metavar="FILE",
            help="erase what this file names, too: erasures.jsonl, or a file of `backup --erasures-only` (repeatable)",
        )

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        with (
            told_errors(interrupted="Interrupted. Nothing was changed."),
            hold_installation(DataLayout.at(settings.DATA_DIR)),
        ):
            self.stdout.write(f"Checking {file} …")
            plan = plan_restore(file, erasures=options["erasures"], without_key=options["without_key"])
            made, version = plan.archive.manifest.created_at, plan.archive.manifest.version
            ago = timesince(made, timezone.now())
            self.stdout.write(f"Backup of {made:%Y-%m-%d %H:%M} UTC ({ago} ago), Jiyi {version}")
            self._confirm(plan, replace=options["replace"], yes=options["yes"])
            reapplied = restore(plan, tell=self.stdout.write)
        for name, receipt in reapplied.receipts.items():
            rows = sum(receipt.deleted.values())
            self.stdout.write(f"Erased again since the backup: {name}, {rows:,} rows, verified")
        for name, count in reapplied.counts.items():
            self.stdout.write(f"Deleted again since the backup: {name}, {count:,}")
        self.stdout.write(
            "Restored. API tokens and passwords are those of the backup: revoke again what was revoked since."
        )

    def _confirm(self, plan: Plan, *, replace: bool, yes: bool) -> None:
        if not plan.holds_data:
            return
        if not replace:
            raise CommandError(
                f"The database {plan.database.name} holds data. To replace all of it, use --replace. "
                "Take a backup of it first if you may need it."
            )
        if yes:
            return
        try:
            answer = input(f"Type the name of the database ({plan.database.name}) to replace everything in it: ")
        except EOFError:
            answer = ""
        if answer != plan.database.name:
            raise CommandError("Nothing was changed.")
