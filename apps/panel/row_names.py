"""What a row is called where Django would show its ID: by its words, or by what it belongs to."""

from __future__ import annotations

import re
from typing import Any

from django.utils.text import Truncator, capfirst
from django.utils.translation import gettext as _

_NAMING = ("title", "key", "name", "content", "text")
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-")
SHOWN_CHARACTERS = 80


def has_name(row: object) -> bool:
    """Whether a row's title says more than its ID, or the ID of what it is about."""
    return _ID.search(str(row)) is None


def name_row(row: Any) -> str:
    """A row's own words, cut; else the title of its conversation; else what kind of thing it is."""
    if has_name(row):
        return str(row)
    words = next((str(getattr(row, name)) for name in _NAMING if getattr(row, name, "")), "")
    if not words and getattr(row, "session_id", None):
        words = row.session.title or _("Untitled conversation")
    return Truncator(words).chars(SHOWN_CHARACTERS) if words else capfirst(str(row._meta.verbose_name))
