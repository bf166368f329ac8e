"""How the embedded PostgreSQL is told to use the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from apps.embedded import postgres
from apps.embedded.layout import DataLayout
from apps.embedded.postgres import Postgres


def read_shared_buffers(folder: Path, *, durable: bool = True) -> int:
    command = Postgres(DataLayout(folder), durable=durable).command()
    (value,) = [str(part).removeprefix("shared_buffers=") for part in command if "shared_buffers" in str(part)]
    return int(value.removesuffix("MB"))


@pytest.mark.parametrize(
    ("limit", "buffers"),
    [(f"{2 * 2**30}\n", 256), (f"{256 * 2**20}\n", 128)],
    ids=["an eighth", "never less than PostgreSQL's default"],
)
def test_the_cache_fits_the_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, buffers: int
) -> None:
    file = tmp_path / "memory.max"
    file.write_text(limit)
    monkeypatch.setattr(postgres, "_CONTAINER_LIMIT", file)

    assert read_shared_buffers(tmp_path) == buffers


def test_without_a_limit_the_cache_fits_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "memory.max"
    file.write_text("max\n")
    monkeypatch.setattr(postgres, "_CONTAINER_LIMIT", file)

    assert 128 <= read_shared_buffers(tmp_path) <= 4096


def test_throw_away_servers_stay_small(tmp_path: Path) -> None:
    assert read_shared_buffers(tmp_path, durable=False) == 128
