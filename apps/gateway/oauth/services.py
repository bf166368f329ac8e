"""Connecting applications and cutting them off. Each service is one transaction."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from oauth2_provider.models import (
    clear_expired,
    get_access_token_model,
    get_application_model,
    get_grant_model,
    get_refresh_token_model,
)

from apps.accounts.models import User
from apps.gateway.models import ConnectedApp

Application, AccessToken = get_application_model(), get_access_token_model()
RefreshToken, Grant = get_refresh_token_model(), get_grant_model()

NOTED_EVERY = timedelta(minutes=1)
UNUSED_FOR = timedelta(days=30)
"""How long an application that registered itself is kept without anybody having connected it."""


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
