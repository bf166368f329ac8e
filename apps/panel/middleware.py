"""Who changes memories in the admin site: the person at the keyboard (L7)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse_lazy
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin

from apps.accounts.models import User
from apps.memory.changes.records import changed_by
from apps.memory.models import Change

_PANEL = reverse_lazy("admin:index")


class PanelAuthorMiddleware(MiddlewareMixin):
    """Records what happens below the admin's address as made by who is logged in. Nobody else gets in there.

    And ends what `PanelSite` begins: times of who asks.
    """

    def __call__(self, request: HttpRequest) -> Any:
        if self.async_mode:
            return self.__acall__(request)
        if not _is_in_panel(request):
            return self.get_response(request)
        with changed_by(origin=Change.Origin.PANEL, actor=_get_actor(request)), _own_time():
            return self.get_response(request)

    async def __acall__(self, request: HttpRequest) -> HttpResponseBase:
        if not _is_in_panel(request):
            return await self.get_response(request)  # type: ignore[misc, no-any-return]
        with changed_by(origin=Change.Origin.PANEL, actor=_get_actor(request)), _own_time():
            return await self.get_response(request)  # type: ignore[misc, no-any-return]


@contextmanager
def _own_time() -> Iterator[None]:
    """What the site does with the time zone is for this answer, which is written after the page has returned it."""
    try:
        yield
    finally:
        timezone.deactivate()


def _is_in_panel(request: HttpRequest) -> bool:
    return request.path_info.startswith(str(_PANEL))


def _get_actor(request: HttpRequest) -> User:
    # Lazy, and read when something is recorded: whoever is not logged in gets that far nowhere in there.
    return cast(User, request.user)
