"""Giving somebody another password: by mail, by a link that an administrator hands over, or at once."""

from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor
from smtplib import SMTPException

import structlog
from django.conf import settings
from django.contrib.auth.tokens import default_token_generator
from django.core.mail import send_mail
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from redis.exceptions import RedisError

from apps.accounts.models import User
from apps.accounts.services.sessions import end_other_sessions, read_account
from apps.accounts.services.throttling import increase
from apps.accounts.services.token_guessing import digest_token
from apps.core.db import release_connections

logger = structlog.get_logger(__name__)

PERIOD_SECONDS = 3_600
MAILS_PER_PERSON = 3
MAILS_PER_ADDRESS = 20
"""How many mails somebody is sent, and are asked for from one address, in an hour."""

_senders = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reset-mail")
"""What sends mail, after the page has answered: how long that takes would tell whether somebody has the address."""


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
        asked = increase(f"reset_mails_asked:{address}", kept_seconds=PERIOD_SECONDS)
        sent = increase(f"reset_mails:{digest_token(email.casefold())}", kept_seconds=PERIOD_SECONDS)
    except (RedisError, OSError, ValueError):
        return True
    return asked <= MAILS_PER_ADDRESS and sent <= MAILS_PER_PERSON


def send_reset_mails(*, email: str, base_url: str) -> None:
    """Send everybody with this address a link each, in the current language; in the background."""
    language = translation.get_language() or settings.LANGUAGE_CODE
    _senders.submit(_send_in_background, email=email, base_url=base_url, language=language)


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
    with translation.override(language):
        for user in _find_accounts(email):
            link = make_reset_link(user=user, base_url=base_url)
            hours = settings.PASSWORD_RESET_TIMEOUT // 3600
            text = render_to_string("registration/reset_mail.txt", {"user": user, "link": link, "hours": hours})
            subject, _, body = text.partition("\n")
            sent += send_mail(subject, body.lstrip("\n"), None, [user.email])
    return sent


def _find_accounts(email: str) -> list[User]:
    """Who has exactly this address, whatever its case, and a password to be replaced."""
    found: QuerySet[User] = User.objects.filter(email__iexact=email, is_active=True, service=None)
    # PostgreSQL takes characters for the same that a mail server does not.
    same = [user for user in found if user.email.casefold() == email.casefold()]
    return [user for user in same if user.has_usable_password()]
