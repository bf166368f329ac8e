"""Reading who sends a request. Named in the settings, so it must not import DRF's views."""

from __future__ import annotations

from typing import Any

import knox.auth
from drf_spectacular.authentication import SessionScheme
from drf_spectacular.contrib.knox_auth_token import KnoxTokenScheme
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from apps.accounts.models import ApiToken, User
from apps.accounts.services.identity import find_token, resolve_person
from apps.accounts.services.placement import find_relayed, relay_elsewhere
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
        relay_elsewhere(person, token=token)
        return person, token

    def authenticate_credentials(self, token: bytes) -> tuple[User, ApiToken]:
        try:
            found = find_token(token.decode())
        except UnicodeError:
            found = None
        if found is None:
            raise AuthenticationFailed("Invalid token.")
        return found.user, found


class RelayedAuthentication(BaseAuthentication):
    """On a shard: the person whom the directory names. Tokens and sessions were looked at there."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken | None] | None:
        relayed = find_relayed(request._request)
        if relayed is None:
            return None
        if relayed.via_session:
            SessionAuthentication().enforce_csrf(request)
        request._request.has_valid_token = True  # type: ignore[attr-defined]  # for who counts the others
        act_through(relayed.program)
        return relayed.user, relayed.token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


# How the OpenAPI document describes them (of applications: apps/gateway/oauth/authentication.py).


class TokenScheme(KnoxTokenScheme):
    target_class = "apps.accounts.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        about = "An API token, from the memory panel or `manage.py create_token`."
        return {**super().get_security_definition(auto_schema), "description": about}


class BrowserScheme(SessionScheme):
    name = "browser"
    priority = 0  # before drf-spectacular's own

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        about = "The session of somebody who is logged in to this site. Changes need the CSRF token, too."
        return {**super().get_security_definition(auto_schema), "description": about}
