"""What lists, searches and views of memories of both kinds have in common over REST."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, ClassVar, TypeVar

import django_filters  # type: ignore[import-untyped]
from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Model, Q, QuerySet
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from apps.accounts.models import User
from apps.accounts.selectors import get_settings, get_user
from apps.accounts.spaces import SpaceFilter, find_place, refuse_bound
from apps.accounts.types import Sensitive
from apps.conversations.types import MAX_CONTENT_CHARS
from apps.core.errors import Conflict, InvalidInput, TooLarge
from apps.core.fields import KnownFieldsSerializer, read_body, refuse_forbidden
from apps.core.http import read_uuid
from apps.core.operations import NOT_BLANK, Problem, query
from apps.core.times import end_of_day, exists_everywhere
from apps.memory.changes.timeline import PastObjects, is_wanted, list_untracked, put_back_all, read_past
from apps.memory.deletion import delete_all_memories, delete_memories
from apps.memory.kinds import MemoryKind
from apps.memory.lifecycle import mute_memories, update_memory
from apps.memory.models import Status

ALL = "all"
Row = TypeVar("Row", bound=Model)

TIME_HELP = "An ISO 8601 time; without an offset it is UTC."
SINCE = f"Said at this time or later. {TIME_HELP}"
UNTIL = f"Said at this time or earlier. {TIME_HELP}"
SPACE_HELP = "ID of the space that it goes to; by default that of the session, else that of the token, else none."
MUTED_HELP = "Kept and shown, but never recalled in a reply."
NOT_PENDING = Problem(Conflict, "It is not pending")
HISTORY = Problem(Conflict, "It is history: superseded, rejected or evicted")
Q_TOO_LONG = Problem(TooLarge, "`q` is too long")

QUERY = query("q", "A message or keywords.", {"type": "string", "pattern": NOT_BLANK}, required=True)
CONFIRM = query("confirm", "Must be `all`, to confirm.", {"type": "string", "enum": [ALL]}, required=True)
AS_OF = query(
    "as_of",
    "What was known then: a date (its end in `memory.timezone`) or an ISO 8601 time. The other filters apply to what "
    "the memories were, `ordering` to what they are now. What was deleted for good since is not there, nor what a "
    "memory said before a text of it was deleted. `last_accessed` and `access_count` are those of now.",
    {"type": "string", "anyOf": [{"type": "string", "format": form} for form in ("date", "date-time")]},
)


# Filters


class StatusListField(forms.CharField):
    """Read a comma list of statuses, or `all`."""

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
    _one = f"({'|'.join(Status.values)})"
    schema = {"type": "string", "default": Status.ACTIVE.value, "pattern": f"^(all|{_one}(,{_one})*)$"}


class TimeField(forms.CharField):
    """Read a time in ISO 8601 with its offset, as every time of the API has one."""

    def clean(self, value: Any) -> datetime | None:
        try:
            return parse_time(value) if value else None
        except ValueError as error:
            raise ValidationError("%(reason)s", params={"reason": error}) from error


class TimeFilter(django_filters.Filter):
    field_class = TimeField
    schema = {"type": "string", "format": "date-time"}


class MemoryFilter(django_filters.FilterSet):
    """Narrow a list of memories of either kind by `status` (active by default), `muted`, `sensitive` and `search`."""

    search_text: ClassVar[Any]  # from rows and words, those rows whose text has the words

    status = StatusListFilter(
        lookup_expr="in", label=f"Comma-separated: {', '.join(f'`{status}`' for status in Status.values)}; or `all`."
    )
    muted = django_filters.BooleanFilter(label="Only muted memories, or only others.")
    sensitive = django_filters.ChoiceFilter(
        choices=[(one.value, one.value) for one in Sensitive],
        method="filter_sensitive",
        label="Only memories marked with this sensitive category.",
    )
    space = SpaceFilter()
    search = django_filters.CharFilter(method="filter_search", label="Only memories that contain these words.")

    def filter_sensitive(self, queryset: QuerySet[Any], name: str, value: str) -> QuerySet[Any]:
        return queryset.filter(sensitive__contains=[value])

    def filter_search(self, queryset: QuerySet[Any], name: str, value: str) -> QuerySet[Any]:
        refuse_forbidden(value)
        found: QuerySet[Any] = self.search_text(queryset, value) if value.strip() else queryset
        return found


# What stands in the query string


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


def read_as_of(request: Request, user: User) -> datetime | None:
    """Return the time that a request asks about, None where it asks about now.

    A date is its end in the person's time zone. Raises `InvalidInput` for what is neither date nor time.
    """
    raw = request.query_params.get("as_of")
    if raw is None:
        return None
    try:
        return (
            end_of_day(date.fromisoformat(raw), get_settings(user).zone)
            if len(raw) == len("2026-11-14")
            else parse_time(raw)
        )
    except (ValueError, OverflowError) as error:
        reason = "Must be a date, such as 2026-05-01, or a time in ISO 8601, such as 2026-05-01T12:00:00+08:00."
        raise InvalidInput(f"as_of: {reason}", fields={"as_of": [reason]}) from error


class MemoriesView(ListAPIView[Row]):
    """List the person's own rows, now or, with ``?as_of=``, as they were at a time."""

    kind: ClassVar[MemoryKind]
    filterset_class: ClassVar[Any]
    _found: PastObjects | None = None

    def get_queryset(self) -> Any:
        return self.kind.rows(get_user(self.request))

    def filter_queryset(self, queryset: Any) -> Any:
        user = get_user(self.request)
        at = read_as_of(self.request, user)
        if at is None:
            return super().filter_queryset(queryset)
        self._found = found = read_past(self.kind, user, at=at)
        unchanged = super().filter_queryset(found.unchanged)  # refuses what its filters do not know
        filters = self.filterset_class(self.request.query_params, queryset=found.unchanged, request=self.request)
        filters.is_valid()
        wanted = dict(filters.form.cleaned_data)
        if wanted["space"]:
            place = find_place(user, wanted["space"])
            wanted["space"] = str(place) if place else False  # as records have it
        changed = [row_id for row_id, state in found.changed.items() if is_wanted(self.kind, state, wanted)]
        either = Q(pk__in=unchanged.order_by().values("pk")) | Q(pk__in=changed)
        then = self.kind.rows(user.overseeing()).filter(either, **list_untracked(self.kind, wanted))
        return then.order_by(*unchanged.query.order_by)

    def paginate_queryset(self, queryset: Any) -> Any:
        page = super().paginate_queryset(queryset)
        if self._found is not None and page is not None:
            put_back_all(self.kind, self._found, user=get_user(self.request), rows=page)
        return page

    def delete_all(self) -> Response:
        """Delete every memory of the kind. Raises `InvalidInput` unless the request has ``?confirm=all``."""
        if self.request.query_params.get("confirm") != ALL:
            reason = f"Must be {ALL}."
            raise InvalidInput(f"confirm: {reason}", fields={"confirm": [reason]})
        return Response({"deleted": delete_all_memories(self.kind, user=get_user(self.request), now=timezone.now())})


class MemoryView(APIView):
    """One memory of a kind, of any status."""

    kind: ClassVar[MemoryKind]
    serializer_class: ClassVar[Any]

    def show(self, memory_id: str) -> Response:
        """Answer with the memory."""
        memory = self.kind.get(get_user(self.request), read_uuid(memory_id))
        return Response(self.serializer_class(memory).data)

    def change(
        self,
        memory_id: str,
        body: type[KnownFieldsSerializer],
        *,
        emptied: Mapping[str, Any] | None = None,
        **how: bool,
    ) -> Response:
        """Change what the body names, and `emptied`, the fields that a body without them empties."""
        user, asked = get_user(self.request), read_uuid(memory_id)
        self.kind.get(user, asked, to_change=True)
        changes, now = {**(emptied or {}), **read_body(body, self.request, **how)}, timezone.now()
        muted = changes.pop("muted", None)
        with transaction.atomic():
            if changes or muted is None:
                update_memory(self.kind, user=user, memory_id=asked, changes=changes, now=now)
            if muted is not None:
                mute_memories(self.kind, user=user, ids=[asked], muted=muted, now=now)
        return self.show(memory_id)

    def remove(self, memory_id: str, *, copies: bool = False) -> Response:
        """Delete the memory, with `copies` what says the same elsewhere, too."""
        user, asked = get_user(self.request), read_uuid(memory_id)
        self.kind.get(user, asked, to_change=True)
        if copies:
            refuse_bound(user)
        gone = delete_memories(self.kind, user=user, ids=[asked], now=timezone.now(), copies=copies)
        return Response({"deleted": gone.deleted})

    def decide(self, memory_id: str, decision: Callable[..., Any]) -> Response:
        """Accept or reject the memory, which must be pending."""
        memory = decision(self.kind, user=get_user(self.request), memory_id=read_uuid(memory_id), now=timezone.now())
        return Response(self.serializer_class(memory).data)


def answer_search(kind: MemoryKind, serializer: type[Serializer[Any]], user: User, found: Sequence[Any]) -> Response:
    """Answer with the memories that a search found, each with the parts of its score; without those deleted since."""
    memories = kind.by_ids(user, [item.candidate.id for item in found])
    parts = [name for name in serializer._declared_fields if name != "memory"]
    results = [
        {name: getattr(item, name) for name in parts} | {"memory": memories[item.candidate.id]}
        for item in found
        if item.candidate.id in memories
    ]
    return Response({"results": serializer(results, many=True).data})
