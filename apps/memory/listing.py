"""What lists and searches of memories of every kind have in common over REST (SPEC, API)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import django_filters  # type: ignore[import-untyped]
from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from rest_framework.request import Request

from apps.conversations.types import MAX_CONTENT_CHARS
from apps.core.errors import InvalidInput, TooLarge
from apps.core.parsing import refuse_forbidden
from apps.core.times import exists_everywhere
from apps.memory.models import Status

ALL = "all"


class StatusListField(forms.CharField):
    """A comma list of statuses, or `all`."""

    def clean(self, value: Any) -> list[str]:
        names = (value or Status.ACTIVE).split(",")
        if names == [ALL]:
            return list(Status.values)
        if unknown := [name for name in names if name not in Status.values]:
            # As a parameter: django-filter formats the message, in which % would be a directive.
            message = f"%(status)s is none of: {', '.join([*Status.values, ALL])}."
            raise ValidationError(message, params={"status": unknown[0]})
        return names


class StatusListFilter(django_filters.Filter):
    field_class = StatusListField


class TimeField(forms.CharField):
    """A time in ISO 8601 with its offset, as every time of the API has one."""

    def clean(self, value: Any) -> datetime | None:
        try:
            return parse_time(value) if value else None
        except ValueError as error:
            raise ValidationError("%(reason)s", params={"reason": error}) from error


class TimeFilter(django_filters.Filter):
    field_class = TimeField


def parse_time(text: str) -> datetime:
    """Return a time in ISO 8601, in UTC; one without an offset is UTC. Raises ValueError, saying what is expected."""
    # In a query string an unquoted + arrives as a space.
    try:
        time = parse_datetime(text.strip().replace(" ", "+") if "T" in text else text)
    except ValueError:
        time = None
    if time is None:
        raise ValueError("Must be a time in ISO 8601, such as 2026-05-01T12:00:00+08:00.")
    if timezone.is_naive(time):
        time = time.replace(tzinfo=UTC)
    if not exists_everywhere(time):
        raise ValueError("Out of range: it has no valid date in some time zones.")
    return time.astimezone(UTC)  # PostgreSQL does not know all offsets that Python does


def read_time(request: Request, name: str) -> datetime | None:
    """Return a time from the query string, None when absent; `InvalidInput` for anything that is none."""
    raw = request.query_params.get(name)
    if raw is None:
        return None
    try:
        return parse_time(raw)
    except ValueError as error:
        raise InvalidInput(f"{name}: {error}", fields={name: [str(error)]}) from error


def read_query(request: Request) -> str:
    """Return `q`. Raises `InvalidInput` when it is missing or blank, `TooLarge` past the length of a message."""
    text = request.query_params.get("q", "")
    refuse_forbidden(text)
    if not text.strip():
        raise InvalidInput("q must not be blank.", fields={"q": ["Must not be blank."]})
    if len(text) > MAX_CONTENT_CHARS:
        raise TooLarge(f"q has over {MAX_CONTENT_CHARS:,} characters.")
    return text


def check_confirmed(request: Request) -> None:
    """Raise `InvalidInput` unless a request to delete all has ``?confirm=all``."""
    if request.query_params.get("confirm") != ALL:
        reason = f"Must be {ALL}."
        raise InvalidInput(f"confirm: {reason}", fields={"confirm": [reason]})
