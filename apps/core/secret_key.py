"""The signing key of an installation, and the encryption of the few secrets that have to be read again.

Where none is given, the key is made once and kept in the data folder. The file holds the key, and after a restore of
another installation's backup, below it, the key that was there before.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import sys
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.utils.crypto import salted_hmac


def get_secret_key(data_dir: Path) -> str:
    """Return the key kept in `data_dir`, making it (mode 600) when there is none.

    Ends the process with a message where the folder cannot be written. Safe for several processes starting at once:
    the file appears whole or not at all, and the first one wins.
    """
    path = _file(data_dir)
    if not path.exists():
        try:
            data_dir.mkdir(parents=True, exist_ok=True)
            draft = _write_draft(data_dir, secrets.token_urlsafe(48))
        except OSError as error:  # the first thing that is ever written there
            sys.exit(
                f"The data folder {data_dir} cannot be written: {error.strerror}. Jiyi runs as user {os.getuid()}."
            )
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text().split("\n", 1)[0].strip()


def get_former_keys(data_dir: Path) -> list[str]:
    """Return the keys that stand below the key: what was signed or encrypted with them stays readable."""
    path = _file(data_dir)
    lines = path.read_text().splitlines()[1:] if path.exists() else []
    return [line.strip() for line in lines if line.strip()]


def put_secret_key(data_dir: Path, key: str, *, former: list[str]) -> None:
    """Make `key` the one that `data_dir` keeps, and keep `former` ones below it; all or nothing."""
    data_dir.mkdir(parents=True, exist_ok=True)
    others = [other for other in dict.fromkeys(former) if other != key]
    draft = _write_draft(data_dir, "\n".join([key, *others]) + ("\n" if others else ""))
    os.replace(draft, _file(data_dir))


def fingerprint(key: str) -> str:
    """Return what tells one key from another without telling anything about it: 16 hexadecimal digits."""
    return hmac.new(key.encode(), b"jiyi.key.fingerprint", hashlib.sha256).hexdigest()[:16]


def _file(data_dir: Path) -> Path:
    return data_dir / "secret_key"


def _write_draft(data_dir: Path, text: str) -> Path:
    draft = data_dir / f".secret_key.{os.getpid()}.{secrets.token_hex(4)}"
    draft.touch(mode=0o600)
    with draft.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    return draft


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
