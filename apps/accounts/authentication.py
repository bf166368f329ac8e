"""Reading who sends a request. Named in the settings, so it must not import DRF's views."""

from __future__ import annotations

import knox.auth
from drf_spectacular.contrib.knox_auth_token import KnoxTokenScheme
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from apps.accounts.models import ApiToken, User
from apps.accounts.services.identity import find_token, resolve_person
from apps.accounts.services.programs import act_through
from apps.core.errors import Unauthenticated


class TokenAuthentication(knox.auth.TokenAuthentication):
    """knox's reading of the header; `request.user` is the person meant (T4), `request.auth` the token."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        act_through("")  # whatever a request before it in this thread came through
        found = super().authenticate(request)
        if found is None:
            return None
        token: ApiToken = found[1]
        request._request.has_valid_token = True  # type: ignore[attr-defined]  # for who counts the others
        act_through(f"token:{token.token_key}")
        try:
            person = resolve_person(token=token, headers=request.headers)
        except Unauthenticated as error:
            raise AuthenticationFailed(error.message) from None
        return person, token

    def authenticate_credentials(self, token: bytes) -> tuple[User, ApiToken]:
        try:
            found = find_token(token.decode())
        except UnicodeError:
            found = None
        if found is None:
            raise AuthenticationFailed("Invalid token.")
        return found.user, found


class TokenScheme(KnoxTokenScheme):
    """How the OpenAPI document describes it."""

    target_class = "apps.accounts.authentication.TokenAuthentication"
