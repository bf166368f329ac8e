"""Encrypting secrets with the installation's key."""

from __future__ import annotations

from typing import Any

import pytest

from apps.core.secret_key import UnreadableSecret, decrypt, encrypt


def test_what_was_encrypted_is_read_again_and_looks_different_each_time():
    first, second = encrypt("密钥 secret", purpose="a"), encrypt("密钥 secret", purpose="a")
    assert first != second
    assert "secret" not in first
    assert decrypt(first, purpose="a") == decrypt(second, purpose="a") == "密钥 secret"


def test_another_purpose_another_key_or_a_changed_text_reads_nothing(settings: Any):
    encrypted = encrypt("secret", purpose="a")
    damaged = encrypted[:-4] + ("AAA=" if not encrypted.endswith("AAA=") else "BBB=")
    for text, purpose in ((encrypted, "b"), (damaged, "a"), ("", "a"), ("记忆", "a")):
        with pytest.raises(UnreadableSecret):
            decrypt(text, purpose=purpose)
    settings.SECRET_KEY = "another"
    with pytest.raises(UnreadableSecret):
        decrypt(encrypted, purpose="a")


def test_a_former_key_still_reads(settings: Any):
    encrypted = encrypt("secret", purpose="a")
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another", [settings.SECRET_KEY]
    assert decrypt(encrypted, purpose="a") == "secret"
