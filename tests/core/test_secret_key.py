"""The signing key of an installation, and what is encrypted with it."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from apps.core.secret_key import (
    UnreadableSecret,
    decrypt,
    encrypt,
    get_former_keys,
    get_secret_key,
    put_secret_key,
)


def test_a_key_is_made_once_and_is_its_owners(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    key = get_secret_key(folder)
    assert len(key) >= 50
    assert get_secret_key(folder) == key
    assert get_former_keys(folder) == []
    assert stat.S_IMODE((folder / "secret_key").stat().st_mode) == 0o600
    assert [path.name for path in folder.iterdir()] == ["secret_key"]


def test_another_key_takes_its_place_and_it_stays_readable(tmp_path: Path) -> None:
    before = get_secret_key(tmp_path)
    for _ in range(2):  # a restore may be repeated
        put_secret_key(tmp_path, "restored", former=[get_secret_key(tmp_path), *get_former_keys(tmp_path)])
    assert get_secret_key(tmp_path) == "restored"
    assert get_former_keys(tmp_path) == [before]
    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600


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


def test_a_folder_that_cannot_be_written_is_told_in_one_line() -> None:
    with pytest.raises(SystemExit, match="The data folder /proc/jiyi cannot be written"):
        get_secret_key(Path("/proc/jiyi"))
