"""Prove who one is: passwords, codes of an app (RFC 6238), and recovery codes for when it is lost.

Another password comes by mail, by a link that an administrator hands over, or at once. Secrets of apps are kept
encrypted, in the table of django-allauth.
"""

from __future__ import annotations

import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from smtplib import SMTPException

import structlog
from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, generate_totp_secret, hotp_value
from django.conf import settings
from django.contrib.auth import authenticate
from django.contrib.auth.tokens import default_token_generator
from django.core.mail import send_mail
from django.db import transaction
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.crypto import constant_time_compare
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from redis.exceptions import RedisError

from apps.accounts.models import User
from apps.accounts.services.limits import digest_token, increase
from apps.accounts.services.login_lockout import LockedOut, admit_attempt, find_lock, forgive_attempts, get_lock
from apps.accounts.services.sessions import end_other_sessions, read_account
from apps.core.access import get_client_network
from apps.core.db import release_connections
from apps.core.errors import Conflict
from apps.core.secret_key import UnreadableSecret, decrypt, encrypt

logger = structlog.get_logger(__name__)

MAIL_PERIOD_SECONDS = 3_600
MAILS_PER_PERSON = 3  # sent to somebody in an hour
MAILS_PER_ADDRESS = 20  # asked for from one address in an hour

SECRET_PURPOSE = "two_factor"  # noqa: S105 (names what is encrypted)
SETUP_PURPOSE = "two_factor_setup"
CODE_PERIOD_SECONDS = 30
TOLERATED_PERIODS = 1  # how many periods the clock of somebody's phone may be off

# Mail is sent after the page has answered: how long that takes would tell whether somebody has the address.
mail_sender = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reset-mail")


# Passwords


def change_password(*, request: HttpRequest, password: str) -> None:
    """Give who is logged in another password, which has been checked; all their other sessions end."""
    user = read_account(request)
    user.set_password(password)
    user.save(update_fields=["password"])
    logger.warning("password.changed", user_id=user.pk)
    end_other_sessions(request)


def may_have_password(user: User) -> bool:
    """Whether somebody could log in with one: not who is deactivated, nor the end users of a service (T4)."""
    return user.is_active and user.service_id is None


def make_reset_link(*, user: User, base_url: str) -> str:
    """Return an address at which a new password can be set once, within `PASSWORD_RESET_TIMEOUT`."""
    key = urlsafe_base64_encode(force_bytes(user.pk))
    path = reverse("password_reset_confirm", args=[key, default_token_generator.make_token(user)])
    return f"{base_url}{path}"


def set_generated_password(*, user: User) -> str:
    """Give the account a new password and return it; it cannot be shown again. All its sessions end."""
    password = secrets.token_urlsafe(12)
    user.set_password(password)
    user.save(update_fields=["password"])
    logger.warning("password.reset", user_id=user.pk)
    return password


def allow_reset_mail(*, email: str, address: str | None) -> bool:
    """Count that mail is asked for; False for more than is sent. If the cache cannot be asked, nothing is refused."""
    try:
        asked = increase(f"reset_mails_asked:{address}", kept_seconds=MAIL_PERIOD_SECONDS)
        sent = increase(f"reset_mails:{digest_token(email.casefold())}", kept_seconds=MAIL_PERIOD_SECONDS)
    except (RedisError, OSError, ValueError):
        return True
    return asked <= MAILS_PER_ADDRESS and sent <= MAILS_PER_PERSON


def send_reset_mails(*, email: str, base_url: str) -> None:
    """Send everybody with this address a link each, in the current language; in the background."""
    language = translation.get_language() or settings.LANGUAGE_CODE
    mail_sender.submit(_send_in_background, email=email, base_url=base_url, language=language)


def _send_in_background(*, email: str, base_url: str, language: str) -> None:
    try:
        send_now(email=email, base_url=base_url, language=language)
    except (SMTPException, OSError) as error:
        logger.error("reset_mail.failed", cause=type(error).__name__)
    finally:
        release_connections()


def send_now(*, email: str, base_url: str, language: str) -> int:
    """Send the mails and return how many; `OSError` or `SMTPException` where the mail server refuses or is away."""
    sent = 0
    found = User.objects.filter(email__iexact=email, is_active=True, service=None)
    with translation.override(language):
        for user in found:
            # PostgreSQL takes characters for the same that a mail server does not.
            if user.email.casefold() != email.casefold() or not user.has_usable_password():
                continue
            link = make_reset_link(user=user, base_url=base_url)
            hours = settings.PASSWORD_RESET_TIMEOUT // 3600
            text = render_to_string("registration/reset_mail.txt", {"user": user, "link": link, "hours": hours})
            subject, _, body = text.partition("\n")
            sent += send_mail(subject, body.lstrip("\n"), None, [user.email])
    return sent


# The second factor


@dataclass(frozen=True, slots=True)
class TwoFactor:
    """That an account asks for codes, since when, and how many recovery codes are left."""

    since: datetime
    codes_left: int


@dataclass(frozen=True, slots=True)
class Setup:
    """What an app is told: `address` in the QR code, drawn as `svg`, `secret` to be typed; `sealed` is its form's."""

    secret: str
    address: str
    svg: str
    sealed: str


def find_two_factor(user: User) -> TwoFactor | None:
    """Return what the account asks for besides the password; None if nothing."""
    rows = {row.type: row for row in Authenticator.objects.filter(user=user)}
    totp = rows.get(Authenticator.Type.TOTP)
    if totp is None:
        return None
    codes = rows.get(Authenticator.Type.RECOVERY_CODES)
    return TwoFactor(since=totp.created_at, codes_left=len(RecoveryCodes(codes).get_unused_codes()) if codes else 0)


def begin_setup(user: User, *, sealed: str = "") -> Setup:
    """Return a new secret for an app, or the one that `sealed` holds; nothing is stored until `switch_on`."""
    secret = (_unseal(user, sealed) if sealed else None) or generate_totp_secret()
    adapter = get_adapter()
    address = adapter.build_totp_url(user, secret)
    sealed = encrypt(f"{user.pk}:{secret}", purpose=SETUP_PURPOSE)
    return Setup(secret=secret, address=address, svg=adapter.build_totp_svg(address), sealed=sealed)


def switch_on(*, user: User, sealed: str, code: str) -> list[str] | None:
    """Ask for codes from now on, and return the recovery codes; None where the code is not that of the secret.

    Where it is on already: `Conflict`.
    """
    secret = _unseal(user, sealed)
    counter = _find_counter(secret, code, after=-1) if secret else None
    if secret is None or counter is None:
        return None
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
        if find_two_factor(user):
            raise Conflict("Two-factor authentication is on already.")
        Authenticator.objects.filter(user=user).delete()
        totp = TOTP.activate(user, secret).instance
        totp.data["last_counter"] = counter
        totp.save(update_fields=["data"])
        codes = RecoveryCodes.activate(user).get_unused_codes()
    logger.warning("two_factor.on", user_id=user.pk)
    return list(codes)


def renew_recovery_codes(*, user: User) -> list[str]:
    """Return new recovery codes; those from before are void. Where no code is asked for: `Conflict`."""
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
        if not find_two_factor(user):
            raise Conflict("Two-factor authentication is off.")
        Authenticator.objects.filter(user=user, type=Authenticator.Type.RECOVERY_CODES).delete()
        return list(RecoveryCodes.activate(user).get_unused_codes())


def switch_off(*, user: User) -> bool:
    """Ask for no codes any more; whether any were asked for."""
    count, _by_model = Authenticator.objects.filter(user=user).delete()
    if count:
        logger.warning("two_factor.off", user_id=user.pk)
    return bool(count)


def verify_code(*, user: User, code: str) -> bool:
    """Whether this is a code of the person's app, or a recovery code. Either is good once."""
    code = "".join(code.split())
    with transaction.atomic():
        rows = {row.type: row for row in Authenticator.objects.select_for_update().filter(user=user)}
        totp, recovery = rows.get(Authenticator.Type.TOTP), rows.get(Authenticator.Type.RECOVERY_CODES)
        if totp is None:
            return False
        secret = get_adapter().decrypt(totp.data["secret"])
        counter = _find_counter(secret, code, after=totp.data.get("last_counter", -1))
        if counter is not None:
            totp.data["last_counter"] = counter
            totp.last_used_at = timezone.now()
            totp.save(update_fields=["data", "last_used_at"])
            return True
        return recovery is not None and bool(RecoveryCodes(recovery).validate_code(code))


def _find_counter(secret: str, code: str, *, after: int) -> int | None:
    """Return the period whose code this is, among those that count now and come after `after`."""
    code = "".join(code.split())
    now = int(time.time()) // CODE_PERIOD_SECONDS
    for counter in range(max(now - TOLERATED_PERIODS, after + 1), now + TOLERATED_PERIODS + 1):
        if constant_time_compare(format_hotp_value(hotp_value(secret, counter)), code):
            return counter
    return None


def _unseal(user: User, sealed: str) -> str | None:
    try:
        owner, _, secret = decrypt(sealed, purpose=SETUP_PURPOSE).partition(":")
    except UnreadableSecret:
        return None
    return secret if owner == str(user.pk) else None


# Proving it once more, before something about the login itself is changed


def confirm_password(*, request: HttpRequest, password: str) -> bool:
    """Whether this is the password of who is logged in. It counts as an attempt; `LockedOut` after too many."""
    username = request.user.get_username()
    is_right = authenticate(request, username=username, password=password) is not None
    if is_right:
        forgive_attempts(username=username, address=get_client_network(request))
    elif lock := get_lock(request):
        raise LockedOut(lock)
    return is_right


def confirm_identity(*, request: HttpRequest, proof: str) -> bool:
    """Whether `proof` is the password of who is logged in or, of an account without one, a code of its second factor.

    An account with neither has nothing to prove it with but its session. `LockedOut` after too many attempts.
    """
    user = read_account(request)
    if user.has_usable_password():
        return confirm_password(request=request, password=proof)
    if not find_two_factor(user):
        return True
    username, address = user.get_username(), get_client_network(request)
    if lock := admit_attempt(username=username, address=address, now=timezone.now()):
        raise LockedOut(lock)
    if verify_code(user=user, code=proof):
        forgive_attempts(username=username, address=address)
        return True
    if lock := find_lock(username=username, address=address, now=timezone.now()):
        raise LockedOut(lock)
    return False
