"""What a client is told when its token is missing, bad or too weak (RFC 6750, section 3)."""

from __future__ import annotations

from django.http import HttpRequest
from rest_framework import exceptions

from apps.accounts.types import ALL_SCOPES, Scope
from apps.core.errors import JiyiError
from apps.gateway.oauth.addresses import get_base_url, get_resource_metadata_url


def make_challenge(request: HttpRequest, *, needed: Scope, error: str | None = None) -> str:
    """Return a ``WWW-Authenticate`` that says where to get a token and which scopes to ask for (RFC 9728, 5.1)."""
    parameters = {"error": error} if error else {}
    parameters["scope"] = " ".join(ALL_SCOPES[: ALL_SCOPES.index(needed) + 1])
    parameters["resource_metadata"] = get_resource_metadata_url(get_base_url(request))
    return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in parameters.items())


class NothingToGet(JiyiError):
    """405: there are neither sessions nor streams here. It says where a client learns how to connect."""

    status, code = 405, "method_not_allowed"

    def __init__(self, request: HttpRequest) -> None:
        address = get_resource_metadata_url(get_base_url(request))
        super().__init__(
            f"This is an MCP server. POST JSON-RPC messages here; {address} says how to connect.",
            fields={"resource_metadata": [address]},
        )


class InsufficientScope(exceptions.PermissionDenied):
    """403: the token is good, but not for this."""

    def __init__(self, request: HttpRequest, *, needed: Scope) -> None:
        super().__init__(f"This needs a token with the scope {needed}.")
        self.auth_header = make_challenge(request, needed=needed, error="insufficient_scope")
