"""``manage.py ensure_first_account``: what ``manage.py up`` calls so that somebody can log in."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from apps.accounts.services.people import ensure_first_account


class Command(BaseCommand):
    help = "Create the first account if there is none, and print its password once."

    def handle(self, *args: Any, **options: Any) -> None:
        username, password = ensure_first_account()
        if password is not None:
            self.stdout.write(f"First account: {username}   password: {password}   (shown only once)")
