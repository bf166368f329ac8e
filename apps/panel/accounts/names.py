"""Names of accounts in lists, which may be long and of any script."""

from __future__ import annotations

from django.utils.html import format_html
from django.utils.safestring import SafeString


def shorten_name(name: str) -> SafeString:
    """The name on one line, as far as there is room for it; whole where the pointer rests on it."""
    return format_html('<bdi class="account-name" title="{}">{}</bdi>', name, name)
