"""``manage.py export_user USERNAME FILE``: everything remembered about a person, as one JSON document (R2)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from apps.accounts.models import User
from apps.accounts.services.erasure import count_rows
from apps.accounts.services.export import write_export


class Command(BaseCommand):
    help = (
        "Export all data of a user to FILE, like GET /memory/export. FILE is created once the export is complete and "
        "is readable only by its owner."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, username: str, file: Path, **options: Any) -> None:
        user = User.objects.filter(username=username).first()
        if user is None:
            raise CommandError(f"There is no user named {username!r}.")
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        try:
            with _replacing(file) as target, Progress(*columns, console=Console(stderr=True)) as display:
                bars = {name: display.add_task(name, total=rows) for name, rows in count_rows(user).items() if rows}

                def show(table: str, rows: int) -> None:
                    if table in bars:
                        display.update(bars[table], completed=rows)

                written = write_export(user=user, file=target, now=timezone.now(), progress=show)
        except OSError as error:
            raise CommandError(f"{file}: {error.strerror}") from error
        self.stdout.write(f"{file}: {sum(written.values())} rows of {sum(map(bool, written.values()))} tables")


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """A new file that takes the place of `path` when the block ends well, and is gone when it does not."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
