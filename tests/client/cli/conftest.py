"""The command line in this process, for the user alice."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from jiyi.cli.main import main
from tests.client.conftest import get_token
from tests.support.http_server import ApiClient


@dataclass(frozen=True)
class Outcome:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its output as JSON."""
        return json.loads(self.out)

    @property
    def rows(self) -> list[list[str]]:
        """Its output as cells."""
        return [line.split("\t") for line in self.out.splitlines()]


class Stdin(io.StringIO):
    """What is typed, or piped in."""

    def __init__(self, text: str, *, is_terminal: bool) -> None:
        super().__init__(text)
        self._is_terminal = is_terminal
        self.buffer = io.BytesIO(text.encode())

    def isatty(self) -> bool:
        return self._is_terminal


Jiyi = Callable[..., Outcome]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Jiyi:
    """Run `jiyi` as nobody in particular. `typed` is entered at a terminal, `piped` comes through a pipe."""

    def run(*arguments: str, typed: str | None = None, piped: str = "") -> Outcome:
        monkeypatch.setattr("sys.stdin", Stdin(piped if typed is None else typed, is_terminal=typed is not None))
        capsys.readouterr()
        code = main(arguments)
        return Outcome(code, *capsys.readouterr())

    return run


@pytest.fixture
def jiyi(run: Jiyi, alice: ApiClient, monkeypatch: pytest.MonkeyPatch) -> Jiyi:
    """Run `jiyi` as alice."""
    monkeypatch.setenv("JIYI_URL", str(alice.base_url))
    monkeypatch.setenv("JIYI_TOKEN", get_token(alice))
    return run
