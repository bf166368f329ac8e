"""Reading the OAuth access token of a request. Named in the settings, so it must not import DRF's views."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from apps.accounts.models import User
from apps.accounts.services.people import act_through
from apps.gateway.oauth.addresses import get_base_url
from apps.gateway.oauth.selectors import OAuthAccess, find_access
from apps.gateway.oauth.services import note_use
from apps.gateway.oauth.tokens import ACCESS_PREFIX


class OAuthAuthentication(BaseAuthentication):
    """`request.user` is who consented, `request.auth` what they consented to. Other tokens are left to others."""

    def authenticate(self, request: Request) -> tuple[User, OAuthAccess] | None:
        scheme, _, text = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        text = text.strip()
        if scheme.lower() != "bearer" or not text.startswith(ACCESS_PREFIX):
            return None
        found = find_access(text, url=f"{get_base_url(request._request)}{request.path}") if text.isascii() else None
        if found is None:
            raise AuthenticationFailed("Invalid token.")
        request._request.has_valid_token = True  # type: ignore[attr-defined]  # for who counts the others
        user, access = found
        act_through(f"app:{access.application_id}")
        note_use(
            user=user,
            application_id=access.application_id,
            last_used_at=access.last_used_at,
            now=timezone.now(),
        )
        return found

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class OAuthScheme(OpenApiAuthenticationExtension):
    """How the OpenAPI document describes it."""

    target_class = "apps.gateway.oauth.authentication.OAuthAuthentication"
    name = "oauth2"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return {
            "type": "oauth2",
            "flows": {
                "authorizationCode": {
                    "authorizationUrl": "/oauth/authorize",
                    "tokenUrl": "/oauth/token",
                    "refreshUrl": "/oauth/token",
                    "scopes": {"read": "Read memories.", "write": "Read, add, change and delete memories."},
                }
            },
        }
