"""Reading the API token of a request. Named in the settings, so it must not import DRF's views."""

from __future__ import annotations

from typing import Any

import knox.auth
from django.utils import timezone
from drf_spectacular.contrib.knox_auth_token import KnoxTokenScheme
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from apps.accounts.models import ApiToken


class TokenAuthentication(knox.auth.TokenAuthentication):
    """knox's, with one query a request, and 401 in place of 500 for a header that is no text."""

    def authenticate(self, request: Request) -> Any:
        try:
            return super().authenticate(request)
        except UnicodeError:
            raise AuthenticationFailed("Invalid token.") from None

    def _cleanup_token(self, auth_token: ApiToken) -> bool:
        """Delete the token that was sent if it has expired; knox would look through all others of its user, too."""
        if auth_token.expiry is None or auth_token.expiry >= timezone.now():
            return False
        auth_token.delete()
        return True


class TokenScheme(KnoxTokenScheme):
    """How the OpenAPI document describes it."""

    target_class = "apps.accounts.authentication.TokenAuthentication"
