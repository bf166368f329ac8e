"""Encryption of the few secrets that have to be read again, with keys derived from the installation's secret key.

Our own credentials are kept as digests only. What somebody else signs with a shared secret can be verified only with
the secret itself.
"""

from __future__ import annotations

import base64

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.utils.crypto import salted_hmac


class UnreadableSecret(Exception):
    """It was encrypted under another secret key, or is damaged."""


def encrypt(text: str, *, purpose: str) -> str:
    """Return `text` encrypted and authenticated (Fernet); only the same `purpose` decrypts it."""
    return _make_fernet(purpose).encrypt(text.encode()).decode()


def decrypt(encrypted: str, *, purpose: str) -> str:
    """Return the text that was encrypted for `purpose`, also under one of Django's SECRET_KEY_FALLBACKS.

    Otherwise: `UnreadableSecret`.
    """
    try:
        return _make_fernet(purpose).decrypt(encrypted.encode()).decode()
    except InvalidToken:
        raise UnreadableSecret from None


def _make_fernet(purpose: str) -> MultiFernet:
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return MultiFernet([Fernet(_derive_key(key, purpose)) for key in keys])


def _derive_key(secret_key: str | bytes, purpose: str) -> bytes:
    digest = salted_hmac("apps.core.encryption", purpose, secret=secret_key, algorithm="sha256").digest()
    return base64.urlsafe_b64encode(digest)
