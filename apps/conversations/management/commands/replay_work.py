"""``manage.py replay_work``: have another try at background work that failed for good."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from rich.console import Console
from rich.progress import track

from apps.conversations.models import Work
from apps.conversations.queue import count_backlog, list_failed_ids, replay_failed

BATCH = 1000


class Command(BaseCommand):
    help = "Queue failed background work again, of one kind or all. Without options, show the numbers of each kind."

    def add_arguments(self, parser: CommandParser) -> None:
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--kind", choices=Work.Kind.values, help="retry work of this kind only")
        which.add_argument("--all", action="store_true", help="retry all failed work")

    def handle(self, *args: Any, kind: str | None, **options: Any) -> None:
        if kind is None and not options["all"]:
            for name, left in count_backlog().items():
                self.stdout.write(f"{name}: {left['failed']} failed, {left['due']} due, {left['claimed']} running")
            return
        ids = list_failed_ids(kind=kind)
        console = Console(file=sys.stderr)
        batches = [ids[start : start + BATCH] for start in range(0, len(ids), BATCH)]
        replayed = sum(
            replay_failed(ids=batch)
            for batch in track(batches, "Replaying", console=console, disable=not console.is_terminal, transient=True)
        )
        self.stdout.write(f"{replayed} queued again.")
