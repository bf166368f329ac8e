"""Making API tokens, finding the one that was sent, and noting that it was used (T4)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

import structlog
from django.db.models import Q
from django.utils import timezone
from knox.crypto import hash_token

from apps.accounts.models import ApiToken, User
from apps.accounts.services.token_guessing import digest_token, note_valid
from apps.accounts.types import ALL_SCOPES, complete_scopes, parse_limit
from apps.core.encryption import UnreadableSecret, decrypt, encrypt
from apps.core.errors import InvalidInput

logger = structlog.get_logger(__name__)

JWT_SECRET_PURPOSE = "jwt_secret"  # noqa: S105 (names what is encrypted)
MIN_JWT_SECRET_BYTES = 32
"""As long as what HS256 signs with it (RFC 7518, 3.2): a shorter one can be guessed from a single signed header."""

MAX_JWT_SECRET_BYTES = 1_000
MAX_LIFETIME = timedelta(days=36_500)
NOTED_EVERY = timedelta(minutes=1)


def create_token(
    *,
    user: User,
    name: str = "",
    expiry: timedelta | None = None,
    is_service: bool = False,
    scopes: Iterable[str] = ALL_SCOPES,
    throttle: str = "",
    jwt_secret: str = "",
) -> str:
    """Make an API token and return it; only its digest is kept, so it cannot be shown again.

    `expiry`: how long it works. `is_service`: it may act for end users of `user` (T4). `throttle`: ``60/min``.
    `jwt_secret`: what the service signs ``X-OpenWebUI-User-Jwt`` with. What is not acceptable: `InvalidInput`, with the
    reasons by argument.
    """
    problems: dict[str, list[str]] = {}
    completed: list[str] = []
    try:
        completed = complete_scopes(scopes)
    except ValueError:
        problems["scopes"] = [f"Must be one or more of {', '.join(ALL_SCOPES)}."]
    if throttle:
        try:
            parse_limit(throttle)
        except ValueError as error:
            problems["throttle"] = [str(error)]
    if expiry is not None and not timedelta() < expiry <= MAX_LIFETIME:
        problems["expiry"] = [f"Must be in the future, at most {MAX_LIFETIME.days:,} days from now."]
    if is_service and user.service_id is not None:
        problems["is_service"] = ["An end user of a service cannot be a service."]
    if jwt_secret and not is_service:
        problems["jwt_secret"] = ["Only a service token has a JWT secret."]
    elif jwt_secret and not MIN_JWT_SECRET_BYTES <= len(jwt_secret.encode()) <= MAX_JWT_SECRET_BYTES:
        problems["jwt_secret"] = [f"Must have {MIN_JWT_SECRET_BYTES} to {MAX_JWT_SECRET_BYTES:,} bytes."]
    if problems:
        field, reasons = next(iter(problems.items()))
        raise InvalidInput(f"{field}: {reasons[0]}", fields=problems)
    _token, text = ApiToken.objects.create(
        user=user,
        expiry=expiry,
        name=name,
        is_service=is_service,
        scopes=completed,
        throttle=throttle,
        encrypted_jwt_secret=encrypt(jwt_secret, purpose=JWT_SECRET_PURPOSE) if jwt_secret else "",
    )
    note_valid(digest_token(str(text)))
    return str(text)


def find_token(text: str) -> ApiToken | None:
    """Return the token with its owner, in one query; None if it is unknown or expired, or its owner is inactive.

    Its use is noted, at most once a minute.
    """
    now = timezone.now()
    try:
        token = ApiToken.objects.select_related("user").get(pk=hash_token(text))
    except (ApiToken.DoesNotExist, UnicodeError):  # a lone surrogate is in no token
        return None
    if (token.expiry is not None and token.expiry <= now) or not token.user.is_active:
        return None
    _note_use(token, now)
    return token


def _note_use(token: ApiToken, now: datetime) -> None:
    before = now - NOTED_EVERY
    if token.last_used_at is not None and token.last_used_at > before:
        return
    stale = Q(last_used_at__isnull=True) | Q(last_used_at__lte=before)
    ApiToken.objects.filter(stale, pk=token.pk).update(last_used_at=now)
    token.last_used_at = now


def read_jwt_secret(token: ApiToken) -> str | None:
    """Return what signs the headers of the token's service; None without one, or if the installation's key changed."""
    if not token.encrypted_jwt_secret:
        return None
    try:
        return decrypt(token.encrypted_jwt_secret, purpose=JWT_SECRET_PURPOSE)
    except UnreadableSecret:
        logger.error("token.jwt_secret_unreadable", user_id=token.user_id)
        return None
