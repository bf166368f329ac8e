"""``manage.py compilemessages``: Django's command of that name, in pure Python (Babel), without gettext's programs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from django.conf import settings
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Compile the message catalogues of LOCALE_PATHS that have changed."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        for path in compile_catalogs(settings.LOCALE_PATHS):
            self.stdout.write(f"compiled {path}")


def compile_catalogs(folders: Iterable[Path | str]) -> list[Path]:
    """Write ``<language>/LC_MESSAGES/*.mo`` for every newer ``.po`` below ``folders``; return what was written.

    A file appears whole or not at all, so several processes may do this at once.
    """
    written = []
    for source in sorted(path for folder in folders for path in Path(folder).glob("*/LC_MESSAGES/*.po")):
        target = source.with_suffix(".mo")
        if target.exists() and target.stat().st_mtime >= source.stat().st_mtime:
            continue
        with source.open("rb") as file:
            catalog = read_po(file, locale=source.parent.parent.name, abort_invalid=True)
        draft = target.with_suffix(".mo.new")
        with draft.open("wb") as file:
            write_mo(file, catalog)
        draft.replace(target)
        written.append(target)
    return written
