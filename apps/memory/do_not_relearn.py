"""Keyed digests of what a person deleted, by which it is recognised and not learned again (L6): do-not-relearn."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.utils.crypto import salted_hmac

from apps.accounts.models import User
from apps.core.text.fold import strip_accents
from apps.memory.models import ForgottenKey


def digest_text(user: User, *, kind: str, text: str) -> str:
    """Return the digest of a text of some kind: of no use without the installation's secret key, or for another user.

    `text` is in the form in which sameness is decided, such as a normalised key, or a keyword, which has no accents.
    """
    plain = strip_accents(text)
    return salted_hmac(f"jiyi.forgotten.{kind}.{user.pk}", plain, algorithm="sha256").hexdigest()


def find_forgotten(user: User, digests: Iterable[str]) -> dict[str, datetime]:
    """Return when each of the digests was forgotten, for those that were; one query."""
    found = ForgottenKey.objects.filter(user=user, digest__in=set(digests))
    return dict(found.values_list("digest", "forgotten_at"))


def record_forgotten(*, user: User, digests: Iterable[str], now: datetime) -> None:
    """Remember that these were deleted now."""
    ForgottenKey.objects.bulk_create(
        [ForgottenKey(user=user, digest=digest, forgotten_at=now) for digest in sorted(set(digests))],
        batch_size=5_000,
        update_conflicts=True,
        unique_fields=["user", "digest"],
        update_fields=["forgotten_at"],
    )


def allow_again(*, user: User, digests: Iterable[str]) -> None:
    """The owner wrote it anew: it may be learned again."""
    ForgottenKey.objects.filter(user=user, digest__in=set(digests)).delete()
