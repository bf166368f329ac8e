"""Clients of the running product, for the user alice of `tests.support.http_server`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from jiyi import AsyncJiyi, Jiyi
from tests.client.scripted_server import ScriptedServer
from tests.support.http_server import ApiClient


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder in which nobody has logged in, and an environment that names no server."""
    for name in ("JIYI_URL", "JIYI_TOKEN", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def get_token(client: ApiClient) -> str:
    """The token that a client of the tests speaks with."""
    return str(client.headers["Authorization"]).removeprefix("Bearer ")


@pytest.fixture
def client(alice: ApiClient) -> Iterator[Jiyi]:
    """The client of alice."""
    with Jiyi(str(alice.base_url), get_token(alice)) as client:
        yield client


@pytest_asyncio.fixture
async def async_client(alice: ApiClient) -> AsyncIterator[AsyncJiyi]:
    """The asynchronous client of alice."""
    async with AsyncJiyi(str(alice.base_url), get_token(alice)) as client:
        yield client


@pytest.fixture
def scripted_server() -> Iterator[ScriptedServer]:
    """A server of HTTP that answers what a test tells it."""
    with ScriptedServer() as server:
        yield server
