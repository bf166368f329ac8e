"""Ways to the list of everything that came from the same source."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User


@dataclass(frozen=True, slots=True)
class SourceLink:
    """A link, and what it leads to in words."""

    label: str
    link: str


def link_source(name: str, value: Any, *, owner: User | None = None) -> str:
    """The page of a source; `owner`: for staff, whose it is."""
    return f"{reverse('admin:sources')}?{urlencode({name: value, **({'user': owner.pk} if owner else {})})}"


def link_sources(
    *,
    time: datetime,
    session: Any = None,
    message: Any = None,
    past_import: Any = None,
    program: str = "",
    owner: User | None = None,
) -> list[SourceLink]:
    """The sources that something has: those of these that are known, and always the hour of `time`."""
    known = {
        "message": (message, _("Everything from this message")),
        "session": (session, _("Everything from this conversation")),
        "import": (past_import, _("Everything from this import")),
        "program": (program, _("Everything from this program")),
        "hour": (write_hour(time), _("Everything from this hour")),
    }
    return [SourceLink(label, link_source(name, value, owner=owner)) for name, (value, label) in known.items() if value]


def write_hour(time: datetime) -> str:
    """The hour that a time is in, as an address names it: in the time zone of who reads the page."""
    return timezone.localtime(time).strftime("%Y-%m-%dT%H:00")
