"""What a client is told when its token is missing, bad or too weak (RFC 6750, section 3)."""

from __future__ import annotations

from rest_framework import exceptions

from apps.accounts.types import ALL_SCOPES, Scope


class InsufficientScope(exceptions.PermissionDenied):
    """403: the token is good, but not for this."""

    def __init__(self, needed: Scope) -> None:
        super().__init__(f"This takes a token with the scope {needed}.")
        self.auth_header = f'Bearer error="insufficient_scope", scope="{join_scopes(needed)}"'


def join_scopes(highest: Scope) -> str:
    """The scope and those that it includes, as OAuth writes them."""
    return " ".join(ALL_SCOPES[: ALL_SCOPES.index(highest) + 1])
