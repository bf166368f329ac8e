"""When sessions are used. Named in the settings."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.services.sessions import is_noted, note_session
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
