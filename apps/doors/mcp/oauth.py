"""OAuth 2.1 for applications that connect by themselves, on django-oauth-toolkit.

Authorization code with PKCE (S256) only; public clients, which register themselves (RFC 7591) or are named by the
address of their metadata. Metadata: RFC 8414 and 9728; resource indicators: RFC 8707; revocation: RFC 7009.

Named in the settings as the authentication of REST, so it must not import DRF's views.
"""

from __future__ import annotations

import hashlib
import secrets
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ObjectDoesNotExist
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from oauth2_provider.models import (
    clear_expired,
    get_access_token_model,
    get_application_model,
    get_grant_model,
    get_refresh_token_model,
)
from oauth2_provider.oauth2_backends import OAuthLibCore
from oauth2_provider.oauth2_validators import OAuth2Validator
from oauthlib.oauth2.rfc6749 import errors
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from apps.accounts.models import User
from apps.accounts.services.limits import digest_token, note_valid
from apps.accounts.services.people import act_through
from apps.doors.models import ConnectedApp

Application, AccessToken = get_application_model(), get_access_token_model()
RefreshToken, Grant = get_refresh_token_model(), get_grant_model()

NOTED_EVERY = timedelta(minutes=1)
# How long an application that registered itself is kept without anybody having connected it.
UNUSED_FOR = timedelta(days=30)


def register_application(*, name: str, redirect_uris: Sequence[str]) -> Any:
    """Make a public client for the authorization code grant (RFC 7591); what is given has been checked."""
    return Application.objects.create(
        name=name,
        redirect_uris=" ".join(redirect_uris),
        client_type=Application.CLIENT_PUBLIC,
        client_secret="",
        hash_client_secret=False,
        authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE,
        registration_source=Application.RegistrationSource.DCR,
    )


def record_connection(*, user: User, application: Any, scopes: Collection[str], now: datetime) -> None:
    """Note that tokens with these scopes are issued to the application for the person.

    It locks the connection, so it comes first in its transaction: who disconnects the application waits or was sooner.
    """
    ConnectedApp.objects.update_or_create(
        user=user,
        application=application,
        defaults={"scopes": sorted(scopes)},
        create_defaults={"scopes": sorted(scopes), "created_at": now},
    )


def note_use(*, user: User, application_id: int, last_used_at: datetime | None, now: datetime) -> None:
    """Note when the application last used its access, at most once a minute; `last_used_at` is what is known."""
    before = now - NOTED_EVERY
    if last_used_at is None or last_used_at <= before:
        stale = Q(last_used_at__isnull=True) | Q(last_used_at__lte=before)
        ConnectedApp.objects.filter(stale, user=user, application=application_id).update(last_used_at=now)


@transaction.atomic
def disconnect_apps(connections: QuerySet[ConnectedApp]) -> int:
    """Revoke all tokens and codes of these applications for these people; returns how many connections that were."""
    found = list(connections.select_for_update(of=("self",)))
    for connection in found:
        held = {"user": connection.user_id, "application": connection.application_id}
        for model in (Grant, RefreshToken, AccessToken):
            model.objects.filter(**held).delete()
    ConnectedApp.objects.filter(pk__in=[connection.pk for connection in found]).delete()
    return len(found)


def name_family(code: str) -> uuid.UUID:
    """Return the name under which all tokens go that come from an authorization code: the code itself is not kept."""
    return uuid.UUID(bytes=hashlib.sha256(code.encode()).digest()[:16])


def revoke_issued_for(code: str, *, application: Any) -> None:
    """Revoke what was issued for a code that is used again: somebody else may have been first (RFC 6749, 4.1.2)."""
    family = name_family(code)
    if RefreshToken.objects.filter(token_family=family, application=application).exists():
        RefreshToken.revoke_family(family)
        drop_dead_connections(application=application)


def drop_dead_connections(**of: Any) -> int:
    """Forget connections, those that `of` selects or all, to which no token is left; returns how many."""
    held = {"user": OuterRef("user"), "application": OuterRef("application")}
    alive = Exists(RefreshToken.objects.filter(**held, revoked__isnull=True)) | Exists(
        AccessToken.objects.filter(**held)
    )
    deleted, _by_model = ConnectedApp.objects.filter(~alive, **of).delete()
    return deleted


def clear_oauth(*, now: datetime) -> None:
    """Delete what has expired: tokens and codes, connections without any, applications that nobody ever connected."""
    clear_expired()
    drop_dead_connections()
    unused = Application.objects.exclude(registration_source=Application.RegistrationSource.MANUAL)
    unused.filter(connections__isnull=True, created__lt=now - UNUSED_FOR).delete()


# Access tokens


@dataclass(frozen=True, slots=True)
class OAuthAccess:
    """What an access token allows: `scopes` of the person who consented, for the application `name`."""

    scopes: tuple[str, ...]
    name: str
    application_id: int
    last_used_at: datetime | None


def find_access(text: str, *, url: str) -> tuple[User, OAuthAccess] | None:
    """Return for whom a token speaks at `url`, and what it allows, in one query.

    None if it is unknown or expired, was issued for another resource (RFC 8707), or its owner is inactive.
    """
    held = {"user": OuterRef("user"), "application": OuterRef("application")}
    last_used = Subquery(ConnectedApp.objects.filter(**held).values("last_used_at")[:1])
    tokens = get_access_token_model().objects.select_related("user", "application").annotate(last_used_at=last_used)
    token = tokens.filter(token_checksum=hashlib.sha256(text.encode()).hexdigest()).first()
    if token is None or token.is_expired() or token.application is None or not token.allows_audience(url):
        return None
    if token.user is None or not token.user.is_active:
        return None
    return token.user, OAuthAccess(
        scopes=tuple(token.scope.split()),
        name=str(token.application),
        application_id=token.application_id,
        last_used_at=token.last_used_at,
    )


# The prefix tells them from API tokens, so that either costs one query.
ACCESS_PREFIX, REFRESH_PREFIX = "jiyi_at_", "jiyi_rt_"


def make_access_token(_request: Any, refresh_token: bool = False) -> str:
    """Return a new access token; only its digest is stored."""
    token = ACCESS_PREFIX + secrets.token_urlsafe(32)
    note_valid(digest_token(token))
    return token


def make_refresh_token(_request: Any, refresh_token: bool = True) -> str:
    """Return a new refresh token; only its digest is stored."""
    return REFRESH_PREFIX + secrets.token_urlsafe(32)


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
        note_use(user=user, application_id=access.application_id, last_used_at=access.last_used_at, now=timezone.now())
        return found

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class OAuthScheme(OpenApiAuthenticationExtension):
    """How the OpenAPI document describes it."""

    target_class = "apps.doors.mcp.oauth.OAuthAuthentication"
    name = "app"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return {
            "type": "oauth2",
            "description": "An application that somebody has connected by OAuth 2.1 (authorization code with PKCE).",
            "flows": {
                "authorizationCode": {
                    "authorizationUrl": "/oauth/authorize",
                    "tokenUrl": "/oauth/token",
                    "refreshUrl": "/oauth/token",
                    "scopes": {"read": "Read memories.", "write": "Read, add, change and delete memories."},
                }
            },
        }


# Where this server is, as clients see it

MCP_PATH = "/mcp"
RESOURCE_METADATA_PATH = "/.well-known/oauth-protected-resource"


def get_base_url(request: HttpRequest) -> str:
    """Return `PUBLIC_URL`, or else scheme and host of the request, without a slash at the end."""
    return settings.PUBLIC_URL or f"{request.scheme}://{request.get_host()}"


def list_resources(base_url: str) -> tuple[str, ...]:
    """What a token can be for: everything here, or MCP alone (RFC 8707). The same with a slash counts, too."""
    return (base_url, f"{base_url}/", f"{base_url}{MCP_PATH}", f"{base_url}{MCP_PATH}/")


def get_resource_metadata_url(base_url: str) -> str:
    """Where the metadata of the MCP server is, as RFC 9728 derives it from the address of the resource."""
    return f"{base_url}{RESOURCE_METADATA_PATH}{MCP_PATH}"


# Where applications have people sent back to

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


def describe_target(uri: str) -> tuple[str, bool]:
    """Return where a redirect URI leads, for people (its host, or its scheme), and whether that is on their device."""
    parts = urlsplit(uri)
    if parts.scheme in ("http", "https"):
        return parts.netloc, parts.hostname in LOOPBACK
    return f"{parts.scheme}:", True


def list_targets(connection: ConnectedApp) -> list[str]:
    """Return where the application may have people sent back to, for people: hosts, and schemes of its own."""
    uris = connection.application.redirect_uris.split()
    return list(dict.fromkeys(target for target, _is_local in map(describe_target, uris)))


# What django-oauth-toolkit leaves open: which resources there are, who may still be spoken for, what is connected

# Among the headers of oauthlib's requests; no client can send one of this name.
BASE_URL = "jiyi.base_url"


class Backend(OAuthLibCore):
    """Passes on where this server is."""

    def extract_headers(self, request: HttpRequest) -> dict[str, Any]:
        return {**super().extract_headers(request), BASE_URL: get_base_url(request)}


class Validator(OAuth2Validator):
    """Issues tokens for resources of ours and active people only, and keeps the list of connected applications."""

    def _validate_resource_uris(self, request: Any, resources: list[str]) -> None:
        super()._validate_resource_uris(request, resources)
        for resource in resources:
            if resource not in list_resources(request.headers[BASE_URL]):
                raise errors.CustomOAuth2Error(
                    error="invalid_target", description="This server has no such resource.", request=request
                )

    def _create_authorization_code(self, request: Any, code: Any, expires: Any = None) -> Any:
        self._validate_resource_uris(request, list(getattr(request, "resource", None) or []))
        return super()._create_authorization_code(request, code, expires)

    def validate_code(self, client_id: str, code: str, client: Any, request: Any, *args: Any, **kwargs: Any) -> bool:
        valid = super().validate_code(client_id, code, client, request, *args, **kwargs)
        if not Grant.objects.filter(code=code).exists():
            revoke_issued_for(code, application=client)
        return bool(valid and request.user.is_active)

    def invalidate_authorization_code(self, client_id: str, code: str, request: Any, *args: Any, **kwargs: Any) -> None:
        try:
            super().invalidate_authorization_code(client_id, code, request, *args, **kwargs)
        except errors.InvalidGrantError:  # another request has used it at the same time
            revoke_issued_for(code, application=request.client)
            raise

    def validate_refresh_token(self, refresh_token: str, client: Any, request: Any, *args: Any, **kwargs: Any) -> bool:
        valid = super().validate_refresh_token(refresh_token, client, request, *args, **kwargs)
        return bool(valid and request.user.is_active)

    def _save_bearer_token(self, token: dict[str, Any], request: Any, *args: Any, **kwargs: Any) -> None:
        scopes = token["scope"].split()
        record_connection(user=request.user, application=request.client, scopes=scopes, now=timezone.now())
        try:
            if not self._save_parallel_token(token, request):
                super()._save_bearer_token(token, request, *args, **kwargs)
        except ObjectDoesNotExist:  # the refresh token was deleted meanwhile: somebody has disconnected the application
            raise errors.InvalidGrantError(request=request) from None

    def _save_parallel_token(self, token: dict[str, Any], request: Any) -> bool:
        """Save a second pair of tokens for a refresh token that was used a moment ago; False where it was not.

        The toolkit would answer with the first pair, of which only digests are kept.
        """
        used = getattr(request, "refresh_token_instance", None)
        # Its use locks it: a request that came at the same time waits here until the other has its tokens.
        used = used and RefreshToken.objects.select_for_update().get(pk=used.pk)
        if used is None or used.revoked is None:
            return False
        self._check_and_set_request_resource(request)
        expires = timezone.now() + timedelta(seconds=token["expires_in"])
        access_token = self._create_access_token(expires, request, token)
        self._create_refresh_token(request, token["refresh_token"], access_token, used)
        return True

    def _create_refresh_token(self, request: Any, code: str, access_token: Any, previous: Any) -> Any:
        created = super()._create_refresh_token(request, code, access_token, previous)
        if previous is None and request.grant_type == "authorization_code":
            created.token_family = name_family(request.code)
            created.save(update_fields=["token_family"])
        return created

    def revoke_token(self, token: str, token_type_hint: str, request: Any, *args: Any, **kwargs: Any) -> None:
        super().revoke_token(token, token_type_hint, request, *args, **kwargs)
        if request.client is not None:
            drop_dead_connections(application=request.client)
