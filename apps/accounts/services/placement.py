"""On which server a person's data is, and how a request gets there (docs/shards.md).

Accounts, tokens and logins are on one server, the directory; what is remembered of a person is there, too, or on a
shard: `User.shard`, "" for the directory. Every request arrives at the directory, which finds out who asks, and has the
proxy pass it on to the person's shard (`LivesElsewhere`) with a signed note of who that is. A shard believes nothing
else. It keeps a copy of the account's row, without the password, that its other rows refer to.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import jwt
from django.conf import settings
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.db import IntegrityError, connection, transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from apps.accounts.models import ApiToken, User
from apps.accounts.services.programs import get_program
from apps.core.errors import JiyiError, Unauthenticated, Unavailable

PERSON_HEADER = "X-Jiyi-Person"
"""From the directory to a shard, by way of the proxy, which takes it out of what clients send."""

LIFETIME_SECONDS = 60
HOLD_SECONDS = 10.0
"""How long a request waits for a person who is being moved, before it is told to come again."""

POLL_SECONDS = 0.1

_ALGORITHM = "HS256"
_COPIED = ("username", "email", "is_active", "is_staff", "is_superuser", "service_id", "external_id", "shard")


class Moved(Unavailable):
    """503: the person's data has gone to another server, or is on its way there. Nothing was written."""

    code = "moved"
    retry_after = 1

    def __init__(self) -> None:
        super().__init__("This person's data is being moved to another server. Try again in a moment.")


class LivesElsewhere(JiyiError):
    """421: another server holds the person's data. The proxy reads `headers` and passes the request on to it.

    A client sees this only where there is no such proxy in between (deploy/nginx/shards.conf).
    """

    status, code = 421, "misdirected"

    def __init__(self, *, shard: str, note: str) -> None:
        super().__init__("Another server holds this person's data, and no proxy has passed the request on to it.")
        self.headers = {"X-Accel-Redirect": f"@shard_{shard}", PERSON_HEADER: note}


@dataclass(frozen=True, slots=True)
class Relayed:
    """Who sends a request that the directory has passed on: `token` is theirs or their service's, without its digest.

    `via_session`: they came with a browser's session, whose CSRF token is still to be looked at.
    """

    user: User
    token: ApiToken | None
    program: str
    via_session: bool


def is_here(user: User) -> bool:
    """Whether this server holds the person's data."""
    return user.shard == settings.SHARD


def keep_here(user: User, *, exclusively: bool = False) -> None:
    """Keep the person's data where it is, and from being erased, until the transaction ends: `Moved` if it has gone.

    A move and an erasure lock the account before all else (`exclusively`).
    """
    lock = "UPDATE" if exclusively else "KEY SHARE"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT FROM accounts_user WHERE id = %s AND shard = %s FOR {lock}", [user.pk, settings.SHARD])
        if not cursor.rowcount and (settings.SHARD or settings.SHARDS):
            raise Moved


# At the directory


def relay_elsewhere(user: User, *, token: ApiToken | None = None, via_session: bool = False) -> None:
    """Raise `LivesElsewhere` if another server has to answer this person; wait for one who is being moved.

    `token`: what they came with. Where a move takes longer than `HOLD_SECONDS`: `Moved`. On a shard nothing happens.
    """
    if not settings.SHARDS:
        return
    _wait_for_move(user)
    if user.shard:
        raise LivesElsewhere(shard=user.shard, note=write_note(user, token=token, via_session=via_session))


def _wait_for_move(user: User) -> None:
    end = time.monotonic() + HOLD_SECONDS
    while user.moving_until is not None and user.moving_until > timezone.now():
        if time.monotonic() >= end:
            raise Moved
        time.sleep(POLL_SECONDS)
        user.refresh_from_db(fields=["shard", "moving_until"])


def choose_shard(external_id: str) -> str:
    """Return the shard of a new end user: one of `SHARDS_FOR_NEW_PEOPLE`, always the same for the same ID."""
    open_ones = settings.SHARDS_FOR_NEW_PEOPLE
    if not open_ones:
        return ""
    digest = salted_hmac("apps.accounts.choose_shard", external_id, algorithm="sha256").digest()
    return str(open_ones[int.from_bytes(digest[:8]) % len(open_ones)])


def write_note(user: User, *, token: ApiToken | None = None, via_session: bool = False) -> str:
    """Return the signed note of who asks, for the shard of this person and for `LIFETIME_SECONDS` (a JWT)."""
    service = None
    if user.service_id is not None:
        service = token.user if token is not None and token.user_id == user.service_id else user.service
    claims = {
        "aud": user.shard,
        "exp": time.time() + LIFETIME_SECONDS,
        "person": _describe(user),
        "service": _describe(service) if service else None,
        "token": None if token is None else _describe_token(token),
        "program": get_program(),
        "session": via_session,
    }
    return jwt.encode(claims, _key(settings.SECRET_KEY), algorithm=_ALGORITHM)


def _describe(user: User) -> dict[str, Any]:
    copied = {name: getattr(user, name) for name in _COPIED}
    return {"id": user.pk, "date_joined": user.date_joined.isoformat(), **copied}


def _describe_token(token: ApiToken) -> dict[str, Any]:
    return {
        "key": token.token_key,
        "digest": token.digest[:32],  # by which its requests are counted
        "name": token.name,
        "is_service": token.is_service,
        "scopes": list(token.scopes),
        "throttle": token.throttle,
    }


# At a shard


def find_relayed(request: HttpRequest) -> Relayed | None:
    """Return who sends a request that the directory passed on to this shard; None if it comes from nobody."""
    if not hasattr(request, "relayed"):
        note = request.headers.get(PERSON_HEADER)
        request.relayed = None if note is None else read_note(note)  # type: ignore[attr-defined]
    relayed: Relayed | None = request.relayed  # type: ignore[attr-defined]
    return relayed


def read_note(text: str) -> Relayed:
    """Return who asks, as the directory wrote it; their account's copy is made or brought up to date.

    A note that is not the directory's, not for this shard, or too old: `Unauthenticated`.
    """
    claims = _verify(text)
    service = claims["service"]
    owner = _copy_account(service) if service else None
    user = _copy_account(claims["person"])
    token = claims["token"] and _copy_token(claims["token"], owner or user)
    return Relayed(user=user, token=token, program=claims["program"], via_session=claims["session"])


def _verify(text: str) -> dict[str, Any]:
    for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        try:
            return jwt.decode(
                text,
                _key(key),
                algorithms=[_ALGORITHM],
                audience=settings.SHARD,
                options={"require": ["aud", "exp"]},
            )
        except jwt.InvalidSignatureError:
            continue
        except jwt.PyJWTError:
            break
    raise Unauthenticated(f"{PERSON_HEADER} does not say who asks: it is not the directory's, or too old.")


def _copy_account(described: Mapping[str, Any]) -> User:
    """Return the account's row here, as described."""
    user = User.objects.filter(pk=described["id"]).first()
    if user is not None and all(getattr(user, name) == described[name] for name in _COPIED):
        return user
    values = {name: described[name] for name in _COPIED}
    user = user or User(pk=described["id"], password=UNUSABLE_PASSWORD_PREFIX)
    user.date_joined = datetime.fromisoformat(described["date_joined"])
    for name, value in values.items():
        setattr(user, name, value)
    try:
        with transaction.atomic():
            _store_copy(user)
    except IntegrityError:
        # Somebody had this name before, and has not been here since.
        with transaction.atomic():
            for stale in User.objects.filter(username=user.username).exclude(pk=user.pk):
                User.objects.filter(pk=stale.pk).update(username=f"-{stale.pk}")
            _store_copy(user)
    return user


def _store_copy(user: User) -> None:
    fields = [*(User._meta.get_field(name).name for name in _COPIED), "date_joined"]
    User.objects.bulk_create([user], update_conflicts=True, unique_fields=["id"], update_fields=fields)


def _copy_token(described: Mapping[str, Any], owner: User) -> ApiToken:
    """The token as far as a request needs it. It is stored nowhere here."""
    return ApiToken(
        digest=described["digest"],
        token_key=described["key"],
        user=owner,
        name=described["name"],
        is_service=described["is_service"],
        scopes=described["scopes"],
        throttle=described["throttle"],
    )


def _key(secret: str) -> bytes:
    return salted_hmac("apps.accounts.person_header", "", secret=secret, algorithm="sha256").digest()
