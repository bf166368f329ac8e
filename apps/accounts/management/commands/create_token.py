"""``manage.py create_token USERNAME [--create]``: print one API token and nothing else."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.models import User
from apps.accounts.services import create_token


class Command(BaseCommand):
    help = "Print a new API token of a user; it is shown this once only."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--create", action="store_true", help="make the user when there is none")
        parser.add_argument("--name", default="", help="what the token is for")

    def handle(self, *args: Any, **options: Any) -> None:
        username = options["username"]
        user = User.objects.filter(username=username).first()
        if user is None:
            if not options["create"]:
                raise CommandError(f"There is no user called {username!r}. Use --create to make one.")
            user = User.objects.create_user(username=username)
        self.stdout.write(create_token(user=user, name=options["name"]))
