"""``manage.py create_token USERNAME [--create] [--service …]``: print one API token and nothing else."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from apps.accounts.models import User
from apps.accounts.services.people import create_token
from apps.accounts.spaces import find_space
from apps.accounts.types import ALL_SCOPES
from apps.core.errors import InvalidInput, NotFound


class Command(BaseCommand):
    help = "Print a new API token for a user. It is shown only once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--create", action="store_true", help="create the user if it does not exist")
        parser.add_argument("--name", default="", help="purpose of the token")
        parser.add_argument(
            "--service",
            action="store_true",
            help="the token may act for end users of this account, named by the header X-End-User",
        )
        parser.add_argument(
            "--scopes", default=",".join(ALL_SCOPES), help="comma-separated: read, write, admin (default: all)"
        )
        parser.add_argument("--expires-days", type=int, help="days until the token expires (default: never)")
        parser.add_argument("--throttle", default="", help="limit of its requests, such as 60/min (default: none)")
        parser.add_argument(
            "--jwt-secret",
            default="",
            help="secret that verifies X-OpenWebUI-User-Jwt: FORWARD_USER_INFO_HEADER_JWT_SECRET of Open WebUI",
        )
        parser.add_argument("--space", default="", help="name of the user's space that the token is bound to")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self.stdout.write(self._create(**options))
        except (InvalidInput, NotFound) as error:
            raise CommandError(error.message) from None

    @transaction.atomic
    def _create(self, *, username: str, create: bool, **options: Any) -> str:
        user = User.objects.filter(username=username).first()
        if user is None:
            if not create:
                raise CommandError(f"There is no user named {username!r}. Use --create to create one.")
            user = User.objects.create_user(username=username)
        days, space = options["expires_days"], options["space"]
        return create_token(
            user=user,
            name=options["name"],
            expiry=None if days is None else timedelta(days=days),
            is_service=options["service"],
            scopes=[scope.strip() for scope in options["scopes"].split(",")],
            throttle=options["throttle"],
            jwt_secret=options["jwt_secret"],
            space=find_space(user, space) if space else None,
        )
