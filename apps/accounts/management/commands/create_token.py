"""``manage.py create_token USERNAME [--create]``: print one API token and nothing else."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.models import User
from apps.accounts.services import create_token


class Command(BaseCommand):
    help = "Print a new API token for a user. It is shown only once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--create", action="store_true", help="create the user if it does not exist")
        parser.add_argument("--name", default="", help="purpose of the token")

    def handle(self, *args: Any, **options: Any) -> None:
        username = options["username"]
        user = User.objects.filter(username=username).first()
        if user is None:
            if not options["create"]:
                raise CommandError(f"There is no user named {username!r}. Use --create to create one.")
            user = User.objects.create_user(username=username)
        self.stdout.write(create_token(user=user, name=options["name"]))
