"""What a client is told when its token is missing, bad or too weak (RFC 6750, section 3)."""

from __future__ import annotations

from django.http import HttpRequest
from rest_framework import exceptions

from apps.accounts.types import ALL_SCOPES, Scope
from apps.gateway.oauth.addresses import get_base_url, get_resource_metadata_url


def make_challenge(request: HttpRequest, *, needed: Scope, error: str | None = None) -> str:
    """Return a ``WWW-Authenticate`` that says where to get a token and which scopes to ask for (RFC 9728, 5.1)."""
    parameters = {"error": error} if error else {}
    parameters["scope"] = " ".join(ALL_SCOPES[: ALL_SCOPES.index(needed) + 1])
    parameters["resource_metadata"] = get_resource_metadata_url(get_base_url(request))
    return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in parameters.items())


class InsufficientScope(exceptions.PermissionDenied):
    """403: the token is good, but not for this."""

    def __init__(self, request: HttpRequest, *, needed: Scope) -> None:
        super().__init__(f"This needs a token with the scope {needed}.")
        self.auth_header = make_challenge(request, needed=needed, error="insufficient_scope")
