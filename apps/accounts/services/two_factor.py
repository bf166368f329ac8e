"""The second factor of a login: codes of an app (RFC 6238), and recovery codes for when it is lost.

Secrets are kept encrypted, in the table of django-allauth.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime

import structlog
from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, generate_totp_secret, hotp_value
from django.db import transaction
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from apps.accounts.models import User
from apps.core.encryption import UnreadableSecret, decrypt, encrypt
from apps.core.errors import Conflict

logger = structlog.get_logger(__name__)

SECRET_PURPOSE = "two_factor"  # noqa: S105 (names what is encrypted)
SETUP_PURPOSE = "two_factor_setup"
PERIOD_SECONDS = 30
TOLERATED_PERIODS = 1
"""How many periods the clock of somebody's phone may be off."""


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
    now = int(time.time()) // PERIOD_SECONDS
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
