"""``manage.py reset_password USERNAME [--generate]``: print a one-time link, or a new password."""

from __future__ import annotations

import os
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.models import User
from apps.accounts.services.credentials import make_reset_link, may_have_password, set_generated_password
from apps.accounts.services.login_lockout import forget_attempts_at


class Command(BaseCommand):
    help = (
        "Print a link at which the user sets a new password, once, within a day. With --generate, set a generated "
        "password instead and print it; it is shown only once. All sessions of the user end, and the account is "
        "unlocked after failed logins."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--generate", action="store_true", help="set a generated password and print it")
        parser.add_argument("--url", default="", help="where the user reaches the server (default: PUBLIC_URL)")

    def handle(self, *args: Any, username: str, generate: bool, url: str, **options: Any) -> None:
        user = User.objects.filter(username=username).first()
        if user is None:
            raise CommandError(f"There is no user named {username!r}.")
        if not may_have_password(user):
            raise CommandError(f"{username!r} cannot log in: the account is deactivated or an end user of a service.")
        forget_attempts_at(user=user)
        if generate:
            self.stdout.write(set_generated_password(user=user))
            return
        self.stdout.write(make_reset_link(user=user, base_url=(url or settings.PUBLIC_URL or _guess_url()).rstrip("/")))


def _guess_url() -> str:
    """Where `manage.py up` answers on this machine."""
    return f"http://{os.environ.get('HOST') or '127.0.0.1'}:{os.environ.get('PORT') or '8000'}"
