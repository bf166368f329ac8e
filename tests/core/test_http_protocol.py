"""Connections on which a client is silent are cut, and no others."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn

from apps.core import http_protocol

ANSWER = b"HTTP/1.1 200 OK"
POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n"


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Read the body, wait longer than any limit of these tests where the path asks for it, and answer."""
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        more = message.get("more_body", False)
    if scope["path"] == "/slow":
        await asyncio.sleep(0.6)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
def connection(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A connection to a server that waits for 0.3 s."""
    monkeypatch.setattr(http_protocol, "HEADER_SECONDS", 0.3)
    monkeypatch.setattr(http_protocol, "BODY_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(
            application, http="apps.core.http_protocol:Protocol", lifespan="off", log_level="error", loop="asyncio"
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        with socket.create_connection(listener.getsockname(), timeout=20) as client:
            yield client
        server.should_exit = True
        thread.join(20)


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n", POST, POST + b"12345", b"\r\n"],
    ids=["nothing", "half a line", "half a header", "no body", "half a body", "a blank line"],
)
@pytest.mark.long
def test_a_client_that_falls_silent_is_cut_off(connection: socket.socket, sent: bytes) -> None:
    connection.sendall(sent)
    assert connection.recv(1_000) == b""


@pytest.mark.parametrize("first", [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", POST + b"1234567890"])
@pytest.mark.long
def test_after_an_answer_too(connection: socket.socket, first: bytes) -> None:
    connection.sendall(first)
    assert connection.recv(1_000).startswith(ANSWER)
    connection.sendall(b"GET / HTTP/1.1\r\nHo")
    assert connection.recv(1_000) == b""


@pytest.mark.parametrize("method", [b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n", b"POST /slow HTTP/1.1\r\nHost: x\r\n"])
@pytest.mark.long
def test_a_client_that_waits_for_its_answer_gets_it(connection: socket.socket, method: bytes) -> None:
    connection.sendall(method if method.startswith(b"GET") else method + b"Content-Length: 2\r\n\r\nab")
    assert connection.recv(1_000).startswith(ANSWER)


@pytest.mark.long
def test_a_slow_body_is_read_to_its_end(connection: socket.socket) -> None:
    connection.sendall(POST)
    pause = threading.Event()
    for byte in b"1234567890":
        connection.sendall(bytes([byte]))
        pause.wait(0.1)
    assert connection.recv(1_000).startswith(ANSWER)
