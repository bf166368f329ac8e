"""Decide what a request may do with its token (T4). Named in the settings, so it must not import DRF's views."""

from __future__ import annotations

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from apps.accounts.types import Scope, allows
from apps.core.errors import Forbidden


class HasScope(BasePermission):
    """Ask for the scope that the method's operation names, and for `admin` where it has none.

    A browser session has all scopes.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        token: Any = request.auth
        handler = getattr(view, (request.method or "").lower(), None)
        if token is None or handler is None:  # a method that there is not: 405, whoever asks
            return True
        described = getattr(handler, "operation", None)
        needed = Scope.READ if request.method == "OPTIONS" else Scope(described.scope) if described else Scope.ADMIN
        if not allows(token.scopes, needed):
            raise Forbidden(f"This needs a token with the scope {needed}.", fields={"scope": [str(needed)]})
        return True
