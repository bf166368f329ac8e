"""The fields of memories and their values, in words."""

from __future__ import annotations

from datetime import datetime, timedelta
from datetime import time as day_time
from typing import Any

from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from apps.memory.models import Category, Source, Status

FIELD_LABELS = {
    "key": _("key"),
    "value": _("value"),
    "category": _("category"),
    "confidence": _("confidence"),
    "source": _("source"),
    "status": _("status"),
    "mode": _("mode"),
    "superseded_by": _("superseded by"),
    "left_of": _("remaining part of"),
    "proposal": _("proposal"),
    "muted": _("muted"),
    "content": _("content"),
    "tags": _("tags"),
    "timestamp": _("mentioned"),
    "event_start": _("event start"),
    "event_end": _("event end"),
    "session_id": _("session"),
    "message_id": _("message"),
    "created_at": _("created at"),
    "create_time": _("created at"),
    "updated_at": _("updated at"),
    "last_accessed": _("last used"),
    "access_count": _("uses"),
}
_CHOICES: dict[str, Any] = {"category": Category, "source": Source, "status": Status}
TIME_FIELDS = ("timestamp", "event_start", "event_end")
_EVENT_FIELDS = ("event_start", "event_end")
TEXT_FIELDS = ("key", "value", "content")


def show_field(name: str, value: Any) -> Any:
    """A value as the page words it; texts are left to be compared word by word."""
    if value is None or name in TEXT_FIELDS:
        return value
    if name in _CHOICES:
        return dict(_CHOICES[name].choices).get(value, value)
    time = parse_datetime(value) if name in TIME_FIELDS and isinstance(value, str) else value
    if isinstance(time, datetime):
        return show_time(name, time)
    return ", ".join(value) if isinstance(value, list) else value


def show_time(name: str, time: datetime) -> str:
    """A time of a memory in words. What happened on whole days has dates: an event ends before its `event_end`."""
    local = timezone.localtime(time)
    if name in _EVENT_FIELDS and local.time() == day_time.min:
        return date_format(local - timedelta(days=name == "event_end"), "DATE_FORMAT")
    return date_format(local, "DATETIME_FORMAT")


REFUSALS = (
    gettext_noop("A memory cannot be merged with itself."),
    gettext_noop("Only active memories can be merged."),
    gettext_noop("Only an active memory can be superseded."),
    gettext_noop("Only a superseded, rejected or evicted memory can be restored."),
)
"""What the services say that only this page calls; `translate_reason` finds their translations."""
