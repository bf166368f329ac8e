"""``manage.py erase_user USERNAME [--yes]``: erase everything remembered about a person (R3)."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.models import User
from apps.accounts.services.erasure import count_rows, erase_user


class Command(BaseCommand):
    help = (
        "Permanently erase all data of a user: conversations, memories, profile, summaries, vectors, history, "
        "settings and queued work. The account and its tokens are kept. Prints what was deleted."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")

    def handle(self, *args: Any, username: str, yes: bool, **options: Any) -> None:
        user = User.objects.filter(username=username).first()
        if user is None:
            raise CommandError(f"There is no user named {username!r}.")
        if not yes:
            self._confirm(user)
        receipt = erase_user(user=user)
        self._show(receipt.deleted)
        if not receipt.verified:
            raise CommandError(
                "The erasure could not be fully verified. Check that the broker is running, then run the command again."
            )
        self.stdout.write("Verified: no data is left.")

    def _confirm(self, user: User) -> None:
        self._show(count_rows(user))
        try:
            answer = input("Type the username to erase all of this: ")
        except EOFError:
            answer = ""
        if answer != user.get_username():
            raise CommandError("Nothing was erased.")

    def _show(self, counts: dict[str, int]) -> None:
        for name, rows in sorted(counts.items()):
            if rows:
                self.stdout.write(f"{rows:>9,}  {name}")
