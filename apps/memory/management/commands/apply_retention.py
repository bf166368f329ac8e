"""``manage.py apply_retention [--dry-run]``: deletes the embeddings of old messages (R1)."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone
from rich.console import Console
from rich.progress import track

from apps.accounts.models import User
from apps.memory.vectors.messages import count_expired, delete_expired, list_retentions


class Command(BaseCommand):
    help = (
        "Delete the embeddings of messages older than the owner's memory.embedding_retention_days. The messages and "
        "the embeddings of summaries are kept. Workers do this once a day."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only show how many would be deleted per user")

    def handle(self, *args: Any, dry_run: bool, **options: Any) -> None:
        console = Console(stderr=True)
        retentions = track(
            list_retentions(now=timezone.now()),
            total=User.objects.count(),
            description="Users",
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        total = 0
        try:
            for retention in retentions:
                count = count_expired(retention) if dry_run else delete_expired(retention)
                total += count
                if count:
                    self.stdout.write(f"{retention.user.username}: {count} (before {retention.before:%Y-%m-%d})")
        except KeyboardInterrupt:
            raise CommandError("Stopped. Run the command again to continue.", returncode=130) from None
        self.stdout.write(f"{total} embeddings {'would be' if dry_run else 'were'} deleted.")
