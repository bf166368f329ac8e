"""Accounts, their API tokens and settings, and whom a request means (T4).

Whom a service token's request means, `_read_external_id` says. Without a service token nothing names anybody: a person
cannot become somebody else by a header. Open WebUI signs its header, if it has a secret, with HS256: claims ``sub``
(the ID), ``iss`` (always ``open-webui``), ``iat`` and ``exp`` (5 minutes).
"""

from __future__ import annotations

import re
import secrets
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import unquote
from uuid import UUID

import jwt
import structlog
from django.db import IntegrityError, connection, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_noop
from knox.crypto import hash_token

from apps.accounts.models import ApiToken, Setting, Space, User
from apps.accounts.selectors import get_settings
from apps.accounts.services.limits import digest_token, note_valid
from apps.accounts.spaces import find_space, get_or_create_space, read_key
from apps.accounts.types import ALL_SCOPES, MemorySettings, complete_scopes, parse_limit, read_setting_problems
from apps.core.errors import Forbidden, InvalidInput, NotFound, Unauthenticated
from apps.core.secret_key import UnreadableSecret, decrypt, encrypt

logger = structlog.get_logger(__name__)

FIRST_USERNAME = "admin"
MAX_USERNAME = 150
MAX_EXTERNAL_ID = 200
MAX_PROGRAM_CHARS = 60

END_USER_HEADER = "X-End-User"
SPACE_HEADER = "X-Space"
JWT_HEADER = "X-OpenWebUI-User-Jwt"
OPEN_WEBUI_HEADER = "X-OpenWebUI-User-Id"
BODY_FIELDS = ("user", "safety_identifier")
JWT_ISSUER = "open-webui"
JWT_LEEWAY_SECONDS = 30  # how far the clocks of two servers may differ

JWT_SECRET_PURPOSE = "jwt_secret"  # noqa: S105 (names what is encrypted)
# As long as what HS256 signs with it (RFC 7518, 3.2): a shorter one can be guessed from a single signed header.
MIN_JWT_SECRET_BYTES = 32
MAX_JWT_SECRET_BYTES = 1_000
MAX_LIFETIME = timedelta(days=36_500)
NOTED_EVERY = timedelta(minutes=1)

# Unicode's categories of characters by which names differ that look alike.
_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
# What programs write where they know no name.
_NOBODY = frozenset({"null", "undefined", "none", "[object object]"})

_program: ContextVar[str] = ContextVar("program", default="")


# Accounts


@transaction.atomic
def ensure_first_account() -> tuple[str, str | None]:
    """Create the first account, a superuser, when there is none.

    Returns its name and, only when it was made just now, its password: it is stored nowhere in clear.
    """
    first = User.objects.order_by("id").first()
    if first is not None:
        return first.username, None
    password = secrets.token_urlsafe(12)
    User.objects.create_superuser(username=FIRST_USERNAME, password=password)
    return FIRST_USERNAME, password


def keep_account(user: User) -> None:
    """Keep the person's data from being erased until the transaction ends (R3).

    An erasure locks the account before all else, so whoever locks something of a person to write it calls this first.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM accounts_user WHERE id = %s FOR KEY SHARE", [user.pk])


def create_scratch_user(*, username: str) -> User:
    """Create an account that nobody can log in to, for data that is measured and deleted again."""
    return User.objects.create(username=username, is_active=False)


def set_active(*, ids: Collection[int], is_active: bool) -> int:
    """Let these accounts log in and use their tokens, or no longer; their data stays. Returns how many that changed."""
    return User.objects.filter(id__in=ids).exclude(is_active=is_active).update(is_active=is_active)


@transaction.atomic
def update_settings(*, user: User | None, changes: Mapping[str, Any]) -> MemorySettings:
    """Change settings of a user, or the global ones where `user` is None; `None` as a value restores the default.

    Returns the effective settings. Unknown key, wrong type or out of range: `InvalidInput`, and nothing changed (G1).
    """
    if problems := read_setting_problems(changes):
        raise InvalidInput("Some settings are not acceptable; nothing was changed.", fields=problems)

    if user is not None:
        keep_account(user)
    restored = [key for key, value in changes.items() if value is None]
    Setting.objects.filter(user=user, key__in=restored).delete()
    for key, value in changes.items():
        if value is not None:
            Setting.objects.update_or_create(user=user, key=key, defaults={"value": value})
    return get_settings(user)


# API tokens


def create_token(
    *,
    user: User,
    name: str = "",
    expiry: timedelta | None = None,
    is_service: bool = False,
    scopes: Iterable[str] = ALL_SCOPES,
    throttle: str = "",
    jwt_secret: str = "",
    space: Space | None = None,
) -> str:
    """Create an API token and return it; only its digest is kept, so it cannot be shown again.

    `expiry`: how long it works. `is_service`: it may act for end users of `user` (T4). `throttle`: ``60/min``.
    `jwt_secret`: what the service signs ``X-OpenWebUI-User-Jwt`` with. `space`: of the user, to which it is bound (P5).
    What is not acceptable: `InvalidInput`, with the reasons by argument.
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
        problems["is_service"] = [gettext_noop("An end user of a service cannot be a service.")]
    if jwt_secret and not is_service:
        problems["jwt_secret"] = ["Only a service token has a JWT secret."]
    elif jwt_secret and not MIN_JWT_SECRET_BYTES <= len(jwt_secret.encode()) <= MAX_JWT_SECRET_BYTES:
        problems["jwt_secret"] = [f"Must have {MIN_JWT_SECRET_BYTES} to {MAX_JWT_SECRET_BYTES:,} bytes."]
    if space is not None and space.user_id != user.pk:
        problems["space"] = [gettext_noop("This space does not exist.")]
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
        space=space,
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
        token = ApiToken.objects.select_related("user", "space").get(pk=hash_token(text))
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


# The program that asks


def act_through(program: str) -> None:
    """Note for the rest of this request that it comes through ``token:<key>`` or ``app:<ID>``; "" for a person."""
    _program.set(program[:MAX_PROGRAM_CHARS])


def get_program() -> str:
    """Return the program that asks, "" for a person at the page and for background work."""
    return _program.get()


# Whom a request means


def resolve_person(*, token: ApiToken, headers: Mapping[str, str], body: Mapping[str, Any] | None = None) -> User:
    """Return the person meant: the end user that a service token names, made on first use; else the token's owner.

    They look from the space that the token is bound to, or that ``X-Space`` names by name or ID (P5): an end user from
    their own of that name, made on first use. `NotFound` for another space than the token's, and for one that is not
    there.
    `headers` must be case-insensitive, as Django's and Starlette's are. `body` is that of ``/v1`` only. A bad name:
    `InvalidInput`. A JWT that does not verify: `Unauthenticated`. A deactivated end user: `Forbidden`.
    """
    external_id = _read_external_id(token, headers, body or {}) if token.is_service else None
    named = _decode_header(headers.get(SPACE_HEADER, ""), SPACE_HEADER).strip()
    if external_id is None:
        person = token.user if token.space_id is None else token.user.within(token.space_id)
    else:
        person = get_or_create_end_user(service=token.user, external_id=external_id)
        if not person.is_active:
            raise Forbidden("This end user is deactivated.")
        if token.space is not None:
            person = person.within(get_or_create_space(user=person, name=token.space.name, kind=token.space.kind).pk)
        elif named:
            return person.within(_find_or_make_space(person, named))
    return person.within(find_space(person, named).pk) if named else person


def _find_or_make_space(end_user: User, named: str) -> UUID:
    try:
        return find_space(end_user, named).pk
    except NotFound:
        if read_key(named) is not None:  # an ID makes nothing
            raise
        return get_or_create_space(user=end_user, name=named, kind=Space.Kind.PROJECT).pk


def get_or_create_end_user(*, service: User, external_id: str) -> User:
    """Return the end user of a service account, created on first use; right under concurrent requests.

    `external_id`: what the service calls the end user, 1–200 characters and no control characters, else `InvalidInput`.
    """
    external_id = _clean(external_id, source="external_id")
    known = User.objects.filter(service=service, external_id=external_id)
    found = known.first()
    for username in _list_usernames(service, external_id):
        if found is not None:
            break
        try:
            with transaction.atomic():
                # Without a password: nobody can log in as an end user.
                return User.objects.create_user(username, service=service, external_id=external_id)
        except IntegrityError:  # another request was faster, or somebody else has this username
            found = known.first()
    assert found is not None, "the last username is nobody else's"
    return found


def _read_external_id(token: ApiToken, headers: Mapping[str, str], body: Mapping[str, Any]) -> str | None:
    if (value := headers.get(END_USER_HEADER)) is not None:
        return _clean(_decode_header(value, END_USER_HEADER), source=END_USER_HEADER)
    if (value := headers.get(JWT_HEADER)) is not None:
        return _clean(_verify_jwt(token, value), source=JWT_HEADER)
    if (value := headers.get(OPEN_WEBUI_HEADER)) is not None:
        return _clean(_decode_header(value, OPEN_WEBUI_HEADER), source=OPEN_WEBUI_HEADER)
    for field in BODY_FIELDS:
        if body.get(field) is not None:
            return _clean(body[field], source=field)
    return None


def _decode_header(value: str, header: str) -> str:
    """Return a header's text. Servers pass on its bytes as Latin-1; clients send UTF-8 or, as Open WebUI, quote it."""
    if "," in value:  # a header that is sent twice arrives as a list
        raise _refuse(header, "Must be sent once. A comma in it is written %2C.")
    try:
        value = value.encode("latin-1").decode()
    except UnicodeEncodeError:
        pass  # somebody has decoded it already
    except UnicodeDecodeError:
        raise _refuse(header, "Must be UTF-8, percent-encoded or not.") from None
    try:
        return unquote(value, errors="strict")
    except UnicodeDecodeError:
        raise _refuse(header, "Must be UTF-8, percent-encoded or not.") from None


def _clean(value: Any, *, source: str) -> str:
    if not isinstance(value, str):
        raise _refuse(source, "Must be a string.")
    value = value.strip()
    if not 1 <= len(value) <= MAX_EXTERNAL_ID:
        raise _refuse(source, f"Must have 1 to {MAX_EXTERNAL_ID} characters.")
    if any(unicodedata.category(character) in _UNSEEN for character in value):
        raise _refuse(source, "Must not contain control characters or others that cannot be seen.")
    if value.casefold() in _NOBODY:
        raise _refuse(source, f"{value} names nobody.")
    return value


def _refuse(source: str, reason: str) -> InvalidInput:
    return InvalidInput(f"{source}: {reason}", fields={source: [reason]})


def _verify_jwt(token: ApiToken, text: str) -> str:
    secret = read_jwt_secret(token)
    if secret is None:
        raise Unauthenticated(f"{JWT_HEADER} cannot be verified: this token has no JWT secret.")
    try:
        claims = jwt.decode(
            text,
            secret,
            algorithms=["HS256"],
            issuer=JWT_ISSUER,
            leeway=JWT_LEEWAY_SECONDS,
            options={"require": ["sub", "exp", "iss"], "verify_aud": False},
        )
    except jwt.ExpiredSignatureError:
        raise Unauthenticated(f"{JWT_HEADER} has expired.") from None
    except (jwt.PyJWTError, ValueError, OverflowError):
        raise Unauthenticated(f"{JWT_HEADER} cannot be verified.") from None
    return str(claims["sub"])


def _list_usernames(service: User, external_id: str) -> list[str]:
    """Usernames for an end user, in the order to try them: readable ones, the last one nobody else's.

    ``openwebui+mei``: of characters that a username may have. One that was changed or shortened for it ends with a
    digest; a keyed one, so that nobody can take it beforehand.
    """
    plain = f"{service.username}+{external_id}"
    readable = re.sub(r"[^\w.@+-]", "_", unicodedata.normalize("NFKC", plain))  # Django stores usernames in NFKC
    digest = salted_hmac("apps.accounts.end_user", f"{service.pk}:{external_id}", algorithm="sha256").hexdigest()[:16]
    distinct = f"{readable[: MAX_USERNAME - len(digest) - 1]}-{digest}"
    return [plain, distinct] if readable == plain and len(plain) <= MAX_USERNAME else [distinct]
