"""``manage.py move_person USERNAME … --to SHARD``: move people's data to another server, while they write."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.progress import track

from apps.accounts.models import User
from apps.core.errors import JiyiError
from apps.shards.moving import PATIENCE_SECONDS, SETTLE_SECONDS, move_person
from apps.shards.recovering import finish_moves

DIRECTORY = "directory"


class Command(BaseCommand):
    help = (
        "Move all that is remembered of people to another server (docs/shards.md), one after the other, while they go "
        "on writing. Their requests wait for a second or two. Run it at the directory."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("usernames", nargs="*", metavar="USERNAME")
        parser.add_argument("--all-of", metavar="SERVICE", help="all end users of a service, besides those named")
        parser.add_argument("--to", required=True, metavar="SHARD", help=f"a name in SHARDS, or {DIRECTORY}")
        parser.add_argument("--settle", type=float, default=SETTLE_SECONDS, help="seconds for requests to end first")
        parser.add_argument(
            "--patience", type=float, default=PATIENCE_SECONDS, help="seconds to wait for a reply to be finished"
        )

    def handle(self, *args: Any, usernames: list[str], all_of: str | None, to: str, **options: Any) -> None:
        target = "" if to == DIRECTORY else to
        people = self._find(usernames, all_of, target)
        failed = 0
        finish_moves()
        bar = Console(stderr=True)
        for user in track(people, "Moving …", console=bar, transient=True, disable=not bar.is_terminal):
            try:
                moved = move_person(
                    user=user, target=target, settle_seconds=options["settle"], patience_seconds=options["patience"]
                )
            except JiyiError as error:
                failed += 1
                self.stderr.write(error.message)
                continue
            rows = sum(moved.rows.values())
            self.stdout.write(f"{user.get_username()}: {rows:,} rows, requests waited {moved.held_seconds:.1f} s")
        if failed:
            raise CommandError(f"{failed} of {len(people)} were not moved; they are where they were.")

    def _find(self, usernames: list[str], service: str | None, target: str) -> list[User]:
        people = list(User.objects.filter(username__in=usernames))
        if missing := set(usernames) - {user.get_username() for user in people}:
            raise CommandError(f"There is nobody named {', '.join(sorted(missing))}. Nobody was moved.")
        if service is not None:
            if not User.objects.filter(username=service).exists():
                raise CommandError(f"There is no service named {service}. Nobody was moved.")
            people += User.objects.filter(service__username=service).exclude(shard=target).order_by("pk")
        if not people:
            raise CommandError("There is nobody to move.")
        return people
