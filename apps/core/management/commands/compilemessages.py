"""``manage.py compilemessages``: Django's command of that name without the need for gettext's programs."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from apps.core.catalogs import compile_catalogs


class Command(BaseCommand):
    help = "Compile the message catalogues of LOCALE_PATHS that have changed."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        for path in compile_catalogs(settings.LOCALE_PATHS):
            self.stdout.write(f"compiled {path}")
