"""Reading who has connected what, and whom an access token speaks for."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime

from django.db.models import OuterRef, Subquery
from oauth2_provider.models import get_access_token_model

from apps.accounts.models import User
from apps.gateway.models import ConnectedApp
from apps.gateway.oauth.redirects import describe_target


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


def list_targets(connection: ConnectedApp) -> list[str]:
    """Return where the application may have people sent back to, for people: hosts, and schemes of its own."""
    uris = connection.application.redirect_uris.split()
    return list(dict.fromkeys(target for target, _is_local in map(describe_target, uris)))
