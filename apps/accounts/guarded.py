"""Views of what an installation tells of itself, for those whom a setting allows to read it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseBase
from django.utils.crypto import constant_time_compare
from rest_framework.exceptions import NotAuthenticated
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.core.access import Access, may_read
from apps.core.errors import Forbidden, NotFound


class _MayRead(BasePermission):
    """An account, of staff unless the setting asks for less."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if may_read(request._request, view.access, user=request.user):
            return True
        if not request.user.is_authenticated:
            raise NotAuthenticated(f"This takes an account. Who may read it is set by {view.setting}.")
        raise Forbidden(f"This is for staff. Who may read it is set by {view.setting}.")


class GuardedView(APIView):
    """Answers GET with `view` where the setting named `setting` allows it.

    Otherwise in the API's error shape: 404 where it is closed, 401 without an account, 403 with one that does not do.
    `bearer_setting` names a token that does instead of an account. With `is_page`, visitors are sent to log in.
    """

    schema = None
    throttle_classes = ()
    view: ClassVar[Callable[..., HttpResponseBase] | None] = None
    setting: ClassVar[str] = ""
    bearer_setting: ClassVar[str] = ""
    is_page: ClassVar[bool] = False

    @property
    def access(self) -> Access:
        access: Access = getattr(settings, self.setting)
        return access

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        if self.access is Access.CLOSED:
            raise NotFound("There is nothing here.")
        super().initial(request, *args, **kwargs)

    def get_authenticators(self) -> list[Any]:
        return [] if self._needs_no_account() else super().get_authenticators()

    def get_permissions(self) -> list[Any]:
        return [] if self._needs_no_account() else [_MayRead()]

    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        assert self.view is not None, "as_view is given a view"
        response = self.view(request._request, *args, **kwargs)
        # Of the inner view's own kind (HTML, say) and not of this one's, which is JSON.
        return response.render() if isinstance(response, Response) else response

    def handle_exception(self, exc: Exception) -> Response:
        if self.is_page and isinstance(exc, NotAuthenticated) and "text/html" in self.request.headers.get("Accept", ""):
            return redirect_to_login(self.request.get_full_path())  # type: ignore[return-value]  # DRF takes any response
        return super().handle_exception(exc)

    def _needs_no_account(self) -> bool:
        # Before the accounts' credentials are looked at: a scraper's token is none of theirs, and needs no database.
        request: HttpRequest | Request = self.request
        asked = request._request if isinstance(request, Request) else request
        return may_read(asked, self.access, user=None) or self._has_token(asked)

    def _has_token(self, request: HttpRequest) -> bool:
        expected = getattr(settings, self.bearer_setting) if self.bearer_setting else ""
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        return bool(expected) and scheme.lower() == "bearer" and constant_time_compare(given.strip(), expected)
