"""Note where an account is logged in, list its sessions, end them.

A session counts as long as Django has it and it holds what its owner's account asks for. The rows here say where it is
used; they are written when somebody logs in, and once in a few minutes of use, never with every request. They are kept
for a while after the session ended, so that an address from which an account was used is not locked out by attempts
from elsewhere (`login_lockout`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

import structlog
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY, update_session_auth_hash
from django.contrib.sessions.models import Session
from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from apps.accounts.models import LoginSession, User
from apps.accounts.services.limits import RecentKeys
from apps.accounts.services.login_lockout import forgive_attempts
from apps.core.access import get_client_address, get_client_network

logger = structlog.get_logger(__name__)

NOTED_EVERY_SECONDS = 300.0
MOST_SHOWN = 100
KEPT_FOR = timedelta(days=30)  # how long an ended session's address is remembered


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session that counts. `address`: the IP address of its last noted use, if it has one."""

    id: int
    address: str | None
    user_agent: str
    created_at: datetime
    last_used_at: datetime
    is_current: bool


noted_sessions = RecentKeys(NOTED_EVERY_SECONDS)  # sessions whose use this process has noted of late


def read_account(request: HttpRequest) -> User:
    """Return the account of who is logged in, as the database has it now."""
    return User.objects.get(pk=cast(User, request.user).pk)


def begin_session(sender: Any, request: HttpRequest | None, user: User, **_kwargs: Any) -> None:
    """Forgive the attempts of who has just logged in, and note the session (a receiver of `user_logged_in`)."""
    if request is not None:
        forgive_attempts(username=user.get_username(), address=get_client_network(request))
        note_session(request, user, now=timezone.now())


def note_session(request: HttpRequest, user: User, *, now: datetime) -> None:
    """Note that the request's session is used, from where and with which browser; with one query."""
    key = request.session.session_key
    if key is None:
        return
    row = LoginSession(
        user_id=user.pk,
        session_key=key,
        address=get_client_address(request),
        network=get_client_network(request),
        user_agent=request.headers.get("User-Agent", "").replace("\0", "")[:300],
        created_at=now,
        last_used_at=now,
    )
    try:
        with transaction.atomic():
            LoginSession.objects.bulk_create(
                [row],
                update_conflicts=True,
                unique_fields=["session_key"],
                update_fields=["user", "address", "network", "user_agent", "last_used_at"],
            )
    except IntegrityError:  # the account was deleted by this very request
        return
    noted_sessions.add(key)


def list_sessions(*, request: HttpRequest, now: datetime) -> list[OpenSession]:
    """Return the sessions that count of who is logged in: this one first, then by last use."""
    user = read_account(request)
    current = request.session.session_key or ""
    if not LoginSession.objects.filter(session_key=current).exists():
        note_session(request, user, now=now)
    rows = list(LoginSession.objects.filter(user=user).order_by("-last_used_at")[:MOST_SHOWN])
    keys = [row.session_key for row in rows]
    stored = {one.pk: one for one in Session.objects.filter(pk__in=keys, expire_date__gt=now)}
    alive = [row for row in rows if row.session_key in stored and _counts(stored[row.session_key], user)]
    found = [
        OpenSession(
            id=row.pk,
            address=row.address,
            user_agent=row.user_agent,
            created_at=row.created_at,
            last_used_at=row.last_used_at,
            is_current=row.session_key == current,
        )
        for row in alive
    ]
    return sorted(found, key=lambda one: not one.is_current)


def end_session(*, user: User, session_id: int) -> bool:
    """End one session of a person; False where there is none of theirs with this ID."""
    row = LoginSession.objects.filter(user=user, pk=session_id).first()
    if row is None:
        return False
    _delete([row])
    logger.warning("session.ended", user_id=user.pk)
    return True


def end_other_sessions(request: HttpRequest) -> None:
    """End all sessions of who is logged in but this one, those that were never noted too. This one gets a new key."""
    user = read_account(request)
    before = request.session.session_key
    with transaction.atomic():
        User.objects.filter(pk=user.pk).update(session_epoch=F("session_epoch") + 1)
        user.refresh_from_db(fields=["session_epoch"])
        _delete(list(LoginSession.objects.filter(user=user).exclude(session_key=before)))
    update_session_auth_hash(request, user)
    LoginSession.objects.filter(session_key=before).update(session_key=request.session.session_key)
    logger.warning("session.others_ended", user_id=user.pk)


def forget_ended_sessions(*, now: datetime) -> None:
    """Delete what has expired: Django's sessions, and where a session was used that ended a while ago."""
    Session.objects.filter(expire_date__lt=now).delete()
    alive = Exists(Session.objects.filter(pk=OuterRef("session_key")))
    LoginSession.objects.filter(~alive, last_used_at__lt=now - KEPT_FOR).delete()


def _delete(rows: list[LoginSession]) -> None:
    Session.objects.filter(pk__in=[row.session_key for row in rows]).delete()
    LoginSession.objects.filter(pk__in=[row.pk for row in rows]).delete()


def _counts(session: Session, user: User) -> bool:
    """Whether Django would take a request with this session for one of the person."""
    held = session.get_decoded()
    wanted = [user.get_session_auth_hash(), *user.get_session_auth_fallback_hash()]
    digest = held.get(HASH_SESSION_KEY, "")
    is_theirs = held.get(SESSION_KEY) == str(user.pk) and BACKEND_SESSION_KEY in held
    return is_theirs and any(constant_time_compare(digest, one) for one in wanted)
