"""In whose time the panel shows times, days, and filters by day: the browser's, which its script tells in a cookie."""

from __future__ import annotations

from urllib.parse import unquote
from zoneinfo import ZoneInfo

from django.http import HttpRequest

from apps.accounts.models import User
from apps.accounts.selectors import get_settings
from apps.accounts.types import list_timezones

COOKIE = "zone"
"""Set by static/chat/zone.js to a name of the IANA database, percent-encoded."""


def read_zone(request: HttpRequest) -> ZoneInfo | None:
    """The browser's zone; for somebody whose browser has not told one yet the zone of their settings (C8).

    None without either. A name that no zone has is none.
    """
    named = unquote(request.COOKIES.get(COOKIE, ""))
    if named in list_timezones():
        return ZoneInfo(named)
    return get_settings(request.user).zone if isinstance(request.user, User) else None
