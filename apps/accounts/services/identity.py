"""Who a request is from (T4): the owner of its token, or the end user that a service names.

With a service token the first of these counts: header ``X-End-User``, a verified ``X-OpenWebUI-User-Jwt``, header
``X-OpenWebUI-User-Id``, and on ``/v1`` the fields ``user`` and ``safety_identifier``. Without one, none does: a person
cannot become somebody else by a header.

Open WebUI sends its headers with ``ENABLE_FORWARD_USER_INFO_HEADERS``. With ``FORWARD_USER_INFO_HEADER_JWT_SECRET`` the
JWT takes the place of the plain headers: HS256, claims ``sub`` (the ID), ``email``, ``name``, ``role``, ``iss`` (always
``open-webui``), ``iat`` and ``exp`` (5 minutes by default).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import jwt
from django.db import IntegrityError, transaction
from django.utils.crypto import salted_hmac

from apps.accounts.models import ApiToken, User
from apps.accounts.services.tokens import find_token as find_token
from apps.accounts.services.tokens import read_jwt_secret
from apps.accounts.types import allows as allows
from apps.core.errors import Forbidden, InvalidInput, Unauthenticated

END_USER_HEADER = "X-End-User"
JWT_HEADER = "X-OpenWebUI-User-Jwt"
OPEN_WEBUI_HEADER = "X-OpenWebUI-User-Id"
BODY_FIELDS = ("user", "safety_identifier")

_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode's categories of characters by which names differ that look alike."""

_NOBODY = frozenset({"null", "undefined", "none", "[object object]"})
"""What programs write where they know no name."""

MAX_EXTERNAL_ID = 200
MAX_USERNAME = 150
JWT_ISSUER = "open-webui"
JWT_LEEWAY_SECONDS = 30
"""How far the clocks of two servers may differ."""


def resolve_person(*, token: ApiToken, headers: Mapping[str, str], body: Mapping[str, Any] | None = None) -> User:
    """Return who is meant: the end user that a service token names, made on first use; else the token's owner.

    `headers` must be case-insensitive, as Django's and Starlette's are. `body` is that of ``/v1`` only. A bad name:
    `InvalidInput`. A JWT that does not verify: `Unauthenticated`. A deactivated end user: `Forbidden`.
    """
    if not token.is_service:
        return token.user
    external_id = _read_external_id(token, headers, body or {})
    if external_id is None:
        return token.user
    end_user = get_or_create_end_user(service=token.user, external_id=external_id)
    if not end_user.is_active:
        raise Forbidden("This end user is deactivated.")
    return end_user


def get_or_create_end_user(*, service: User, external_id: str) -> User:
    """Return the end user of a service account, made if it is the first time; right under concurrent requests.

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
