"""Names, fields and values in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from datetime import time as day_time
from typing import Any

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.text import Truncator, capfirst
from django.utils.translation import gettext as _

from apps.accounts.types import ScoreWeights
from apps.chat.context.types import LONG_TERM, MESSAGE
from apps.core.text.clean import readable_text
from apps.core.times import MOMENT
from apps.core.words import ATOMIC_PARTS, ATOMIC_SCORES, COMPONENTS, Component

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


_EVENT_FIELDS = ("event_start", "event_end")


def show_time(name: str, time: datetime) -> str:
    """A time of a memory in words. What happened on whole days has dates: an event ends before its `event_end`."""
    local = timezone.localtime(time)
    if name == "valid_until":
        return date_format(local - MOMENT, "DATE_FORMAT")
    if name in _EVENT_FIELDS and local.time() == day_time.min:
        return date_format(local - timedelta(days=name == "event_end"), "DATE_FORMAT")
    return date_format(local, "DATETIME_FORMAT")


_NAMING = ("title", "key", "name", "url", "content", "text")
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


def split_score(
    values: Mapping[str, float], weights: ScoreWeights
) -> list[tuple[Component, float, float | None, float]]:
    """Return the parts of a long-term memory's score (K5, K9): value, weight and points, which add up to the score.

    `values`: by the components' fields. Of the two matches only the better one has points.
    """
    by_meaning = values["semantic_score"] > values["keyword_score"]
    weighted = {**weights.model_dump(), "semantic": weights.keyword if by_meaning else 0.0}
    if by_meaning:
        weighted["keyword"] = 0.0
    points = {one.name: values[one.field] * weighted.get(one.name, 0.0) for one in COMPONENTS}
    points["topic"] = sum(points.values()) * (values["topic_boost"] - 1)
    return [(one, values[one.field], weighted.get(one.name), points[one.name]) for one in COMPONENTS]
