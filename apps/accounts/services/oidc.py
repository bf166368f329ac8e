"""Sign in with another service, by OpenID Connect, through django-allauth.

One service, configured in the environment. Its account is found by issuer and subject alone: an e-mail address attaches
nobody to an account that is there already. Its owner does, logged in, in the panel. Every ID token is verified (OpenID
Connect Core 1.0, 3.1.3.7), whatever way it came.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

import jwt
import structlog
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.models import SocialAccount, SocialApp
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse
from requests import RequestException

from apps.accounts.models import User
from apps.core.errors import JiyiError

logger = structlog.get_logger(__name__)

NONCE_KEY = "oidc_nonce"
# What is kept of what the service tells: by which its owner recognises the account, and how they proved themselves.
KEPT_CLAIMS = ("email", "name", "amr")
# Signatures with a key that only the service has; never the client's secret, and never none.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
LEEWAY_SECONDS = 30


class ServiceUnavailable(JiyiError):
    """502: the service cannot be asked, or does not answer as one that speaks OpenID Connect."""

    status, code = 502, "unavailable"


@dataclass(frozen=True, slots=True)
class Link:
    """An account of the service that logs in to an account here."""

    id: int
    name: str
    since: datetime


def is_configured() -> bool:
    """Whether there is a service to sign in with."""
    return bool(settings.OIDC_ISSUER and settings.OIDC_CLIENT_ID)


def get_provider_id() -> str:
    """Return what its accounts are kept under: with another issuer, the same subject is somebody else."""
    return f"oidc-{sha256(settings.OIDC_ISSUER.encode()).hexdigest()[:16]}"


def make_app() -> SocialApp:
    """Return the service as django-allauth wants it."""
    return SocialApp(
        provider="openid_connect",
        provider_id=get_provider_id(),
        name=settings.OIDC_NAME,
        client_id=settings.OIDC_CLIENT_ID,
        secret=settings.OIDC_CLIENT_SECRET,
        settings={"server_url": settings.OIDC_ISSUER, "oauth_pkce_enabled": True},
    )


def begin_sign_in(request: HttpRequest, *, next_url: str, connect: bool = False) -> HttpResponseBase:
    """Send the browser to the service; `connect`: to attach its account to that of who is logged in.

    `next_url`: where to go afterwards, which has been checked. `ServiceUnavailable` where it cannot be asked.
    """
    provider = get_adapter(request).get_provider(request, get_provider_id())
    provider.oauth2_adapter_class = OidcAdapter
    nonce = request.session.setdefault(NONCE_KEY, secrets.token_urlsafe(16))
    try:
        response: HttpResponseBase = provider.redirect(
            request,
            process="connect" if connect else "login",
            next_url=next_url,
            auth_params={"nonce": nonce},
        )
    except (RequestException, OAuth2Error, ValueError, KeyError) as error:
        logger.error("oidc.unavailable", cause=type(error).__name__)
        raise ServiceUnavailable("The service to sign in with cannot be reached.") from None
    return response


class OidcAdapter(OpenIDConnectOAuth2Adapter):
    """allauth's, which asks the service; here every token is verified, whatever way it came."""

    @property
    def openid_config(self) -> dict[str, Any]:
        config: dict[str, Any] = super().openid_config
        if str(config.get("issuer", "")).rstrip("/") != settings.OIDC_ISSUER:
            raise OAuth2Error("The service calls itself otherwise than OIDC_ISSUER.")
        return config

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        base = settings.PUBLIC_URL or f"{request.scheme}://{request.get_host()}"
        return f"{base}{reverse('oidc_callback')}"

    def complete_login(self, request: HttpRequest, app: SocialApp, token: Any, **kwargs: Any) -> Any:
        claims = self._verify(request, app, kwargs["response"].get("id_token"))
        if not {"email", "email_verified"} <= claims.keys() and self.openid_config.get("userinfo_endpoint"):
            claims = join_claims(claims, self._fetch_user_info(token.token))
        login = self.get_provider().sociallogin_from_response(request, {"id_token": claims})
        login.account.extra_data = {name: claims[name] for name in KEPT_CLAIMS if name in claims}
        login.email_addresses = []  # the account has its own address, and nobody is found by one
        login.user.email = read_verified_email(claims)
        login.verified_email = login.user.email
        return login

    def _verify(self, request: HttpRequest, app: SocialApp, text: Any) -> dict[str, Any]:
        if not isinstance(text, str):
            raise OAuth2Error("The service sent no ID token.")
        with get_adapter().get_requests_session() as session:
            response = session.get(self.openid_config["jwks_uri"])
            response.raise_for_status()
            keys = response.json()
        nonce = request.session.get(NONCE_KEY) or secrets.token_urlsafe(16)
        issuer = self.openid_config["issuer"]
        return verify_id_token(text, keys=keys, issuer=issuer, client_id=app.client_id, nonce=nonce)


def verify_id_token(text: str, *, keys: Mapping[str, Any], issuer: str, client_id: str, nonce: str) -> dict[str, Any]:
    """Return the token's claims; `OAuth2Error` where its signature, issuer, audience, time or nonce is not right.

    `keys`: the service's JSON Web Key Set.
    """
    try:
        header = jwt.get_unverified_header(text)
        key = _find_key(jwt.PyJWKSet.from_dict(dict(keys)), header.get("kid"))
        claims: dict[str, Any] = jwt.decode(
            text,
            key=key,
            algorithms=list(ALGORITHMS),
            audience=client_id,
            issuer=issuer,
            leeway=LEEWAY_SECONDS,
            options={"require": ["iss", "sub", "aud", "exp", "iat"]},
        )
    except (jwt.PyJWTError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise OAuth2Error(type(error).__name__) from None
    several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if (several or "azp" in claims) and claims.get("azp") != client_id:
        raise OAuth2Error("It was issued to another client.")
    if claims.get("nonce") != nonce:
        raise OAuth2Error("It does not belong to this login.")
    if not isinstance(claims["sub"], str) or not claims["sub"]:
        raise OAuth2Error("It names nobody.")
    return claims


def _find_key(keys: jwt.PyJWKSet, key_id: str | None) -> jwt.PyJWK:
    found = [key for key in keys.keys if key.key_id == key_id] if key_id else list(keys.keys)
    if len(found) != 1:
        raise ValueError("There is no such key.")
    return found[0]


def join_claims(claims: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    """Return an ID token's claims with what the service tells besides; `OAuth2Error` where that is of somebody else.

    Whether an address is verified is said of the address beside it, so the two are taken from one place.
    """
    if told.get("sub") != claims["sub"]:
        raise OAuth2Error("The service tells of somebody else.")
    if claims.get("email", told.get("email")) != told.get("email"):
        told = {name: value for name, value in told.items() if name not in ("email", "email_verified")}
    elif "email" not in claims:
        claims = {name: value for name, value in claims.items() if name != "email_verified"}
    return {**told, **claims}


def read_verified_email(claims: dict[str, Any]) -> str:
    """Return the address that the service has verified; empty without one."""
    email = claims.get("email")
    is_verified = str(claims.get("email_verified", "")).lower() == "true"
    return email if isinstance(email, str) and is_verified and "@" in email and len(email) <= 254 else ""


def is_allowed_email(email: str) -> bool:
    """Whether who has this verified address (empty: none) may sign in."""
    allowed: list[str] = settings.OIDC_ALLOWED_DOMAINS
    return not allowed or email.rpartition("@")[2].lower() in allowed


def is_taken(email: str) -> bool:
    """Whether somebody who could log in has this address."""
    return bool(email) and User.objects.filter(email__iexact=email, service=None).exists()


def list_links(user: User) -> list[Link]:
    """Return the accounts of the service that log in to this one."""
    rows = SocialAccount.objects.filter(user=user, provider=get_provider_id()).order_by("pk")
    names = [str(row.extra_data.get("email") or row.extra_data.get("name") or "") for row in rows]
    return [Link(id=row.pk, name=name, since=row.date_joined) for row, name in zip(rows, names, strict=True)]


def disconnect(*, user: User, link_id: int) -> bool:
    """Detach an account of the service; False where there is none with this ID, or nothing else logs in."""
    links = SocialAccount.objects.filter(user=user, provider=get_provider_id())
    if not user.has_usable_password() and links.count() < 2:
        return False
    count, _by_model = links.filter(pk=link_id).delete()
    if count:
        logger.warning("oidc.disconnected", user_id=user.pk)
    return bool(count)
