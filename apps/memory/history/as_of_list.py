"""Lists over REST that answer ``?as_of=``: what was known at a time."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any, ClassVar, TypeVar

from django.db.models import Model, Q
from rest_framework.generics import ListAPIView
from rest_framework.request import Request

from apps.accounts.models import User
from apps.accounts.selectors import get_settings, get_user
from apps.core.errors import InvalidInput
from apps.core.times import end_of_day
from apps.memory.history.as_of import PastKind, PastObjects, put_back_all
from apps.memory.listing import parse_time

AS_OF = "as_of"
Row = TypeVar("Row", bound=Model)


def read_as_of(request: Request, user: User) -> datetime | None:
    """Return the time that a request asks about, None where it asks about now.

    A date is its end in the person's time zone. Raises `InvalidInput` for what is neither date nor time.
    """
    raw = request.query_params.get(AS_OF)
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
        raise InvalidInput(f"{AS_OF}: {reason}", fields={AS_OF: [reason]}) from error


class AsOfListView(ListAPIView[Row]):
    """A list of the person's own rows, and of what they were at a time."""

    past: ClassVar[PastKind]
    filterset_class: ClassVar[Any]
    _found: PastObjects | None = None

    def filter_queryset(self, queryset: Any) -> Any:
        user = get_user(self.request)
        at = read_as_of(self.request, user)
        if at is None:
            return super().filter_queryset(queryset)
        self._found = found = self.past.read(user, at=at)
        unchanged = super().filter_queryset(found.unchanged)  # refuses what its filters do not know
        filters = self.filterset_class(self.request.query_params, queryset=found.unchanged, request=self.request)
        filters.is_valid()
        wanted = filters.form.cleaned_data
        changed = [row_id for row_id, state in found.changed.items() if self.past.is_wanted(state, wanted)]
        steady = {name: wanted[name] for name in self.past.steady if wanted.get(name)}
        then = queryset.filter(Q(pk__in=unchanged.order_by().values("pk")) | Q(pk__in=changed), **steady)
        return then.order_by(*unchanged.query.order_by)

    def paginate_queryset(self, queryset: Any) -> Any:
        page = super().paginate_queryset(queryset)
        if self._found is not None and page is not None:
            put_back_all(self.past, self._found, user=get_user(self.request), rows=page)
        return page
