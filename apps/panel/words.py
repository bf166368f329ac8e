"""Names, fields and values in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from datetime import time as day_time
from typing import Any

from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format
from django.utils.text import Truncator, capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from apps.chat.context.types import LONG_TERM, MESSAGE
from apps.core.text.clean import readable_text
from apps.core.words import ATOMIC_PARTS, ATOMIC_SCORES, COMPONENTS, Component
from apps.memory.models import Category, Source, Status

# Characters from which a list or an object is shown with a line for each item.
LONG = 60


def show_value(value: Any) -> str:
    """A JSON value as text to read; a long list or object has a line for each item."""
    text = readable_text(value)
    if len(text) <= LONG:
        return text
    match value:
        case dict():
            return "\n".join(readable_text({key: item}) for key, item in value.items())
        case list():
            return "\n".join(map(readable_text, value))
    return text


FIELD_LABELS = {
    "key": gettext_lazy("key"),
    "value": gettext_lazy("value"),
    "category": gettext_lazy("category"),
    "confidence": gettext_lazy("confidence"),
    "source": gettext_lazy("source"),
    "status": gettext_lazy("status"),
    "mode": gettext_lazy("mode"),
    "superseded_by": gettext_lazy("superseded by"),
    "left_of": gettext_lazy("remaining part of"),
    "proposal": gettext_lazy("proposal"),
    "muted": gettext_lazy("muted"),
    "content": gettext_lazy("content"),
    "tags": gettext_lazy("tags"),
    "timestamp": gettext_lazy("mentioned"),
    "event_start": gettext_lazy("event start"),
    "event_end": gettext_lazy("event end"),
    "session_id": gettext_lazy("session"),
    "message_id": gettext_lazy("message"),
    "created_at": gettext_lazy("created at"),
    "create_time": gettext_lazy("created at"),
    "updated_at": gettext_lazy("updated at"),
    "last_accessed": gettext_lazy("last used"),
    "access_count": gettext_lazy("uses"),
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


# What the services say that only this page calls; `translate_reason` finds their translations.
REFUSALS = (
    gettext_noop("A memory cannot be merged with itself."),
    gettext_noop("Only active memories can be merged."),
    gettext_noop("Only an active memory can be superseded."),
    gettext_noop("Only a superseded, rejected or evicted memory can be restored."),
)


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


def list_kept(used: Mapping[str, Any]) -> Iterator[tuple[Component, float]]:
    """Yield the parts of a score that a turn kept, with their values; `used`: one of its `memories_used`.

    Of a past message, its words and meaning alone. Of an atomic memory: its parts that are not 0, of which older turns
    have none, then its BM25 and cosine.
    """
    if used.get("kind") in (LONG_TERM, MESSAGE):
        yield from _list_numbers(COMPONENTS, used)
        return
    parts = _list_numbers(ATOMIC_PARTS, used.get("parts") or {})
    yield from ((component, points) for component, points in parts if points)
    yield from _list_numbers(ATOMIC_SCORES, used)


def _list_numbers(components: Iterable[Component], values: Mapping[str, Any]) -> Iterator[tuple[Component, float]]:
    for component in components:
        value = values.get(component.field)
        if isinstance(value, int | float):
            yield component, float(value)
