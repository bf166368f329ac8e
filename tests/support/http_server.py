"""The product behind a real socket, in this process: uvicorn serving the ASGI application, and clients of it."""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
import uvicorn
from uvicorn.config import LoopFactoryType

from apps.accounts.models import User
from apps.accounts.services.people import create_token

# The thread in which the event loop of `HttpServer` runs.
SERVER_THREAD = "http-server"

# The seconds that a request, and then its answer, are held at most. Most are held briefly and some for long, so that
# answers overtake one another: what a page takes for granted shows.
SLOWNESS = float(os.environ.get("SLOW_ANSWERS", "0"))


class HttpServer:
    """Uvicorn in a thread, on a free port of loopback. `headers` are added to every request; `loop`: uvicorn's name."""

    def __init__(self, *, headers: Sequence[tuple[bytes, bytes]] = (), loop: LoopFactoryType = "auto") -> None:
        from project.asgi import application as product

        async def application(scope: Any, receive: Any, send: Any) -> None:
            if SLOWNESS and not scope["path"].startswith("/static/"):
                await _hold()
                send = _hold_answer(send)
            await product({**scope, "headers": [*scope["headers"], *headers]}, receive, send)

        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        config = uvicorn.Config(
            application,
            lifespan="off",
            log_level="warning",
            # A busy machine may take longer from one request to the next than the server's five seconds: a connection
            # that it closes at the very moment in which it is used again would fail the test.
            timeout_keep_alive=60,
            timeout_graceful_shutdown=5,
            loop=loop,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name=SERVER_THREAD, daemon=True
        )

    def __enter__(self) -> HttpServer:
        self._thread.start()
        return self

    def wait_until_idle(self) -> None:
        """Wait for requests that are under way, such as those of a page that was closed, but not for ever."""
        deadline = time.monotonic() + 5
        while self._server.server_state.tasks and time.monotonic() < deadline:
            time.sleep(0.01)

    def __exit__(self, *exc: object) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=10)
        self._socket.close()


def _hold_answer(send: Any) -> Any:
    async def send_late(message: Any) -> None:
        if message["type"] == "http.response.start":
            await _hold()
        await send(message)

    return send_late


async def _hold() -> None:
    await asyncio.sleep(SLOWNESS * random.random() ** 3)


class ApiClient(httpx2.Client):
    """A client of the API that speaks for one user: with a token of theirs, or with `token` as their service does."""

    def __init__(self, server: HttpServer, user: User, *, token: str = "") -> None:
        headers = {"Authorization": f"Bearer {token or create_token(user=user)}"}
        if token and user.service_id:
            headers["X-End-User"] = user.external_id
        super().__init__(base_url=server.url, headers=headers, timeout=200)
        self.user = user

    def new_session(self, **body: Any) -> str:
        """Start a session and return its ID."""
        return str(self.post("/chat/sessions", json=body).raise_for_status().json()["id"])

    def say(self, session_id: str, content: str, **headers: str) -> httpx2.Response:
        """Send a message, not streamed."""
        return self.post(f"/chat/sessions/{session_id}/messages", json={"content": content}, headers=headers)

    def say_streaming(self, session_id: str, content: str, **headers: str) -> list[Event]:
        """Send a message and return all the events of its stream."""
        with self.streaming(session_id, content, **headers) as events:
            return list(events)

    @contextmanager
    def streaming(self, session_id: str, content: str, **headers: str) -> Iterator[Iterator[Event]]:
        """Send a message; the events of its stream as they come."""
        body = {"content": content, "stream": True}
        path = f"/chat/sessions/{session_id}/messages"
        with self.stream("POST", path, json=body, headers=headers) as response:
            assert response.headers["content-type"].startswith("text/event-stream"), response.read()
            yield read_events(response.iter_lines())


@dataclass(frozen=True)
class Event:
    """One server-sent event."""

    name: str
    data: Any


def read_events(lines: Iterable[str]) -> Iterator[Event]:
    """Parse server-sent events; comments are skipped."""
    name, data = "message", ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            data += line.removeprefix("data: ")
        elif not line and data:
            yield Event(name, json.loads(data))
            name, data = "message", ""


@pytest.fixture(scope="session")
def _http_server() -> Iterator[HttpServer]:
    with HttpServer() as server:
        yield server


@pytest.fixture
def http_server(transactional_db: None, _http_server: HttpServer) -> Iterator[HttpServer]:
    """The running product; the database is emptied after the test, and after the requests that are still under way."""
    yield _http_server
    _http_server.wait_until_idle()


@pytest.fixture
def mei(db: None) -> User:
    """Somebody, for tests that need no running product."""
    return User.objects.create_user("mei")


@pytest.fixture
def alice(http_server: HttpServer) -> Iterator[ApiClient]:
    """A client for the user alice."""
    with ApiClient(http_server, User.objects.create_user("alice")) as client:
        yield client


@pytest.fixture
def bob(http_server: HttpServer) -> Iterator[ApiClient]:
    """A client for the user bob."""
    with ApiClient(http_server, User.objects.create_user("bob")) as client:
        yield client
