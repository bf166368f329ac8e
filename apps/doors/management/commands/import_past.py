"""``manage.py import_past FILE --user NAME``: conversations and memories from elsewhere, or an export of everything."""

from __future__ import annotations

import time
import uuid
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from apps.accounts.models import User
from apps.accounts.spaces import find_space
from apps.core.errors import JiyiError
from apps.doors.imports.formats.registry import FORMATS
from apps.doors.imports.formats.uploads import UnreadableFile
from apps.doors.imports.previews import Preview, preview_file
from apps.doors.imports.running import claim_import, run_slice
from apps.doors.imports.services import UNDER_WAY, create_import, list_items
from apps.doors.models import ImportItem, PastImport

SHOWN = 20
# Seconds, while a worker is at it.
WATCH_EVERY = 0.5

# The exit code of a program that Ctrl-C ended.
INTERRUPTED = 130


class Command(BaseCommand):
    help = (
        f"Import a file into an account: {'; '.join(each.description for each in FORMATS.values())}. The format is "
        "detected by the content. Running the command again with the same file continues where it stopped and imports "
        "nothing twice."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--user", required=True, metavar="NAME", help="the account to import into")
        parser.add_argument("--space", metavar="NAME", help="a space of the account, where all of it goes")
        parser.add_argument("--format", choices=list(FORMATS), help="instead of detecting the format")
        parser.add_argument("--dry-run", action="store_true", help="show what the file contains, import nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["user"]).first()
        if user is None:
            raise CommandError(f"There is no user named {options['user']!r}.")
        path: Path = options["file"]
        try:
            if options["space"]:
                user = user.within(find_space(user, options["space"]).pk)
            with path.open("rb") as file:
                preview = preview_file(file, named=options["format"])
                self._show_preview(preview)
                if options["dry_run"]:
                    return
                now = timezone.now()
                created = create_import(user=user, file=file, name=path.name, named=preview.format, now=now)
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror}") from error
        except (UnreadableFile, JiyiError) as error:
            raise CommandError(f"{path}: {error}") from error
        try:
            self._run(created)
        except KeyboardInterrupt:
            raise CommandError("Stopped. Run the command again to continue.", returncode=INTERRUPTED) from None
        self._report(created)

    def _run(self, created: PastImport) -> None:
        """Do what a worker would do; where one is at it already, watch."""
        token = f"import_past {uuid.uuid4().hex}"
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True)) as display:
            bar = display.add_task("Importing", total=None)

            def show(current: PastImport) -> None:
                display.update(bar, total=current.total or None, completed=current.done)

            while True:
                claimed = claim_import(token=token, now=timezone.now(), only=created)
                if claimed is not None:
                    run_slice(claimed, token=token, seconds=1.0, progress=partial(show, claimed))
                else:
                    time.sleep(WATCH_EVERY)
                created.refresh_from_db()
                show(created)
                if created.state not in UNDER_WAY:
                    return

    def _show_preview(self, preview: Preview) -> None:
        told = preview.describe()
        self.stdout.write(f"Format: {preview.format}")
        rows: list[tuple[str, Any]] = [(name.capitalize(), count) for name, count in told["found"].items()]
        rows.append(("Conversations for reading only, as memory was off there", preview.unlearned))
        rows.append(("Proposals for the profile", preview.proposals))
        if preview.first and preview.last:
            rows.append(("Dates", f"{preview.first:%Y-%m-%d} – {preview.last:%Y-%m-%d}"))
        rows += [(f"Left out: {reason}", count) for reason, count in told["left_out"].items()]
        rows += [("For example", sample.title or sample.said) for sample in preview.conversation_samples]
        rows += [("For example", text) for text in preview.memory_samples]
        self._print([*rows, ("Problem", preview.problem)])

    def _report(self, past_import: PastImport) -> None:
        counts = past_import.counts
        self.stdout.write(f"Import {past_import.id}: {past_import.state}")
        rows = [(f"Imported {name}", count) for name, count in counts.get("imported", {}).items()]
        rows += [(f"Skipped: {reason}", count) for reason, count in counts.get("skipped", {}).items()]
        rows += [
            (name, f"{table['restored']} restored, {table['left_out']} left out")
            for name, table in counts.get("tables", {}).items()
        ]
        self._print([*rows, ("Failed", counts.get("failed")), ("Problem", past_import.problem)])
        failed = list_items(past_import.user, past_import.id).filter(state=ImportItem.State.FAILED)
        for item in failed[:SHOWN]:
            self.stdout.write(f"{item.number + 1}: {item.label}: {item.detail}")
        if past_import.state != PastImport.State.DONE:
            raise CommandError(f"The import has ended as {past_import.state}: {past_import.problem or 'see above'}")

    def _print(self, rows: list[tuple[str, Any]]) -> None:
        table = Table(show_header=False)
        for name, value in rows:
            if value:
                table.add_row(name, str(value))
        # What people write is text: "[/b]" and ":cat:" stay what they are.
        console = Console(width=100, markup=False, emoji=False, highlight=False)
        with console.capture() as captured:
            console.print(table)
        self.stdout.write(captured.get())
