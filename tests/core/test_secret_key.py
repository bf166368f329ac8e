"""The key of an installation, and the one that a restore has put below it."""

from __future__ import annotations

import stat
from pathlib import Path

from apps.core.secret_key import fingerprint, get_former_keys, get_secret_key, put_secret_key


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


def test_a_fingerprint_tells_keys_apart_and_nothing_else() -> None:
    assert fingerprint("a") != fingerprint("b")
    assert len(fingerprint("a")) == 16
