"""When sessions are used, and on which server. Named in the settings."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin

from apps.accounts.models import User
from apps.accounts.services.placement import find_relayed, relay_elsewhere
from apps.accounts.services.programs import act_through
from apps.accounts.services.sessions import is_noted, note_session
from apps.core.db import in_database
from apps.core.errors import JiyiError
from apps.core.http import error_body
from apps.core.middleware import Inline


class SessionUseMiddleware(Inline):
    """Notes that a browser's session was used, once in a few minutes; requests with a token have none."""

    def needs_thread(self, request: HttpRequest) -> bool:
        return _find_user_to_note(request) is not None

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if user := _find_user_to_note(request):
            note_session(request, user, now=timezone.now())
        return response


def _find_user_to_note(request: HttpRequest) -> User | None:
    """Who used a session in this request, as far as somebody looked; looking would be a query."""
    user: Any = getattr(request, "_cached_user", None) or getattr(request, "_acached_user", None)
    if not isinstance(user, User):
        return None
    key = request.session.session_key
    return None if key is None or is_noted(key) else user


OF_THE_DIRECTORY = (
    "/login",
    "/logout",
    "/oauth/",
    "/.well-known/",
    "/i18n/",
    "/static/",
    "/texts.js",
    "/favicon.ico",
    "/api/",
    "/mcp",  # takes no session
    "/metrics",
    "/livez",
    "/readyz",
    "/healthz",
    "/admin/login/",
    "/admin/logout/",
    "/admin/password_change/",
    "/admin/security/",
    "/admin/accounts/",
    "/admin/doors/",
    "/admin/jsi18n/",
)
"""Paths about accounts, or about nobody: with a session, too, the directory answers them itself."""


class ShardMiddleware(MiddlewareMixin):
    """Has the proxy pass a browser's request on to the server with its person's data (docs/shards.md).

    At the directory, requests with a token are passed on by their authentication. On a shard this is who logs a browser
    in: for one request, as the directory says.
    """

    def __init__(self, get_response: Any) -> None:
        if not settings.SHARDS and not settings.SHARD:
            raise MiddlewareNotUsed
        super().__init__(get_response)

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        try:
            if settings.SHARD:
                _log_in_relayed(request)
            elif _comes_with_session(request) and isinstance(request.user, User):
                relay_elsewhere(request.user, via_session=True)
        except JiyiError as error:
            return _answer(error)
        return None

    async def __acall__(self, request: HttpRequest) -> HttpResponseBase:
        response = await in_database(self.process_request, request)
        return response or await self.get_response(request)  # type: ignore[misc]


def _comes_with_session(request: HttpRequest) -> bool:
    if "Authorization" in request.headers or request.path_info.startswith(OF_THE_DIRECTORY):
        return False
    return settings.SESSION_COOKIE_NAME in request.COOKIES


def _log_in_relayed(request: HttpRequest) -> None:
    relayed = find_relayed(request)
    if relayed is None or not relayed.via_session:
        return
    act_through("")
    user = relayed.user

    async def get_user() -> User:
        return user

    request.user = user
    request.auser = get_user


def _answer(error: JiyiError) -> HttpResponse:
    return JsonResponse(error_body(error.code, error.message), status=error.status, headers=error.headers)
