"""What a request may do with its token (T4). Named in the settings, so it must not import DRF's views."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from apps.accounts.types import Scope, allows
from apps.core.errors import Forbidden


class HasScope(BasePermission):
    """The token's scopes include the one that the table in the settings asks for; a browser session has them all."""

    def has_permission(self, request: Request, view: Any) -> bool:
        token: Any = request.auth
        method = (request.method or "").lower()
        if token is None or not hasattr(view, method):  # a method that there is not: 405, whoever asks
            return True
        route = request.resolver_match.view_name if request.resolver_match else ""
        needed = get_needed_scope(route, method)
        if not allows(token.scopes, needed):
            raise Forbidden(f"This needs a token with the scope {needed}.", fields={"scope": [str(needed)]})
        return True


def get_needed_scope(route: str, method: str) -> Scope:
    """Return what the table says of the route's method (in lower case); `admin` where it says nothing."""
    if method == "options":
        return Scope.READ
    scope: Scope = settings.API_SCOPES.get(route, {}).get("get" if method == "head" else method, Scope.ADMIN)
    return scope
