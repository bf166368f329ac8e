"""``manage.py remove_two_factor USERNAME``: let somebody log in without a code who has lost their phone."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.models import User
from apps.accounts.services.credentials import switch_off


class Command(BaseCommand):
    help = "Turn off two-factor authentication of a user who has lost the app and the recovery codes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")

    def handle(self, *args: Any, username: str, **options: Any) -> None:
        user = User.objects.filter(username=username).first()
        if user is None:
            raise CommandError(f"There is no user named {username!r}.")
        if not switch_off(user=user):
            raise CommandError(f"{username!r} does not use two-factor authentication.")
        self.stdout.write(f"Two-factor authentication of {username} is off.")
