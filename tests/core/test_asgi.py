"""What becomes of requests before Django sees them, where they come from, and where ours may go."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from ipaddress import IPv4Address
from typing import Any

import pytest
import uvicorn
from django.test import RequestFactory

from apps.core import http_protocol
from apps.core.access import get_client_address, get_client_network, is_public
from apps.core.asgi import FORM_BYTES, Handler
from tests.support.workers import PROJECT

MIB = 1024**2


async def ask(*, length: str | None, portions: Iterator[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """Send a request; returns the messages of the answer, and how many portions were read before it."""
    answer: list[dict[str, Any]] = []
    read = before = 0

    async def receive() -> dict[str, Any]:
        nonlocal read
        read += 1
        return next(portions, {"type": "http.disconnect"})

    async def send(message: dict[str, Any]) -> None:
        nonlocal before
        if message["type"] == "http.response.start":
            before = read
        answer.append(message)

    headers = [(b"host", b"localhost")] + ([(b"content-length", length.encode())] if length is not None else [])
    scope = {"type": "http", "method": "POST", "path": "/memory/imports", "query_string": b"", "headers": headers}
    await Handler()(scope, receive, send)
    return answer, before


def make_portions(count: int, *, size: int) -> Iterator[dict[str, Any]]:
    for _ in range(count):
        yield {"type": "http.request", "body": b" " * size, "more_body": True}
    yield {"type": "http.request", "body": b"", "more_body": False}


def check_refused(answer: list[dict[str, Any]], *, limit: int) -> None:
    start, *bodies = answer
    assert (start["status"], dict(start["headers"])[b"content-type"]) == (413, b"application/json")
    message = f"The file is larger than {limit // MIB} MiB."
    error = {"code": "too_large", "message": message, "fields": {"max_bytes": limit}}
    assert json.loads(b"".join(body["body"] for body in bodies)) == {"error": error}
    assert not bodies[-1].get("more_body", False)


@pytest.mark.parametrize("length", [201 * MIB, 200 * MIB + FORM_BYTES + 1, 10**15])
async def test_a_body_that_says_it_is_too_long_is_refused_unread(length: int) -> None:
    answer, read = await ask(length=str(length), portions=make_portions(4, size=MIB))
    check_refused(answer, limit=200 * MIB)
    assert read == 0


@pytest.mark.parametrize("length", [None, "", "12", "x", "9" * 30])
async def test_a_body_that_does_not_say_it_is_refused_once_it_is_too_long(settings: Any, length: str | None) -> None:
    settings.IMPORT_MAX_BYTES = MIB
    answer, read = await ask(length=length, portions=make_portions(50, size=MIB // 2))
    check_refused(answer, limit=MIB)
    assert read == 3


async def test_a_client_that_goes_away_ends_it() -> None:
    answer, _read = await ask(length=str(201 * MIB), portions=iter([]))
    check_refused(answer, limit=200 * MIB)


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
    answer = connection.recv(1_000)
    while not answer.endswith(b"\r\n\r\nok"):  # head and body may come one after the other
        answer += connection.recv(1_000)
    assert answer.startswith(ANSWER)
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


BEGIN = """
import asyncio
from django.core.asgi import get_asgi_application
from django.core.signals import request_started

handler = get_asgi_application()
called = asyncio.run(request_started.asend(sender=type(handler), scope={}))
print([receiver.__name__ for receiver, _answer in called])
"""


@pytest.mark.long
def test_nobody_is_called_when_a_request_begins():
    """In a process of its own: here Django's test client has connected `close_old_connections` again."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "project.settings"}
    command = [sys.executable, "-c", BEGIN]
    output = subprocess.check_output(command, cwd=PROJECT, env=environment, text=True, timeout=200)
    assert output == "[]\n"


@pytest.mark.parametrize(
    ("proxies", "noted", "expected"),
    [
        (0, "203.0.113.9", "127.0.0.1"),
        (1, "203.0.113.9", "203.0.113.9"),
        (1, "1.2.3.4, 203.0.113.9", "203.0.113.9"),
        (2, "1.2.3.4, 203.0.113.9, 10.0.0.2", "203.0.113.9"),
        (2, "203.0.113.9", "127.0.0.1"),
        (1, "203.0.113.9:4711", "203.0.113.9"),
        (1, "[2001:db8::1]:4711", "2001:db8::1"),
        (1, "::ffff:203.0.113.9", "203.0.113.9"),
        (1, "mallory", "127.0.0.1"),
        (1, "", "127.0.0.1"),
    ],
)
def test_the_client_stands_as_many_places_from_the_right_as_there_are_proxies(settings, proxies, noted, expected):
    settings.TRUSTED_PROXIES = proxies
    assert get_client_address(RequestFactory().get("/", headers={"X-Forwarded-For": noted})) == expected


def test_addresses_of_one_household_are_counted_together():
    request = RequestFactory().get("/", REMOTE_ADDR="2001:db8:1:2:3:4:5:6")
    assert get_client_network(request) == "2001:db8:1:2::"
    assert get_client_address(request) == "2001:db8:1:2:3:4:5:6"


def test_a_unix_socket_has_no_address():
    assert get_client_network(RequestFactory().get("/", REMOTE_ADDR="")) is None


PUBLIC = ["1.1.1.1", "93.184.216.34", "223.5.5.5", "2606:4700::1111", "2400:3200::1"]
NOT_PUBLIC = {
    "loopback": ["127.0.0.1", "127.255.255.254", "::1"],
    "unspecified": ["0.0.0.0", "0.1.2.3", "::"],
    "private": ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fd12:3456::1"],
    "link-local, where clouds keep credentials": ["169.254.169.254", "fe80::1", "fe80::1%eth0"],
    "of a provider's network": ["100.64.0.1", "100.127.255.255"],
    "for documents and measurements": ["192.0.2.1", "203.0.113.9", "198.18.0.1", "2001:db8::1", "3fff::1"],
    "multicast and broadcast": ["224.0.0.1", "239.255.255.250", "255.255.255.255", "ff02::1", "ff0e::1"],
    "reserved": ["240.0.0.1", "192.0.0.8", "fec0::1", "100::1", "4000::1", "64:ff9b:1::1"],
    "tunnels that end who knows where": ["2001:0:4136:e378:8000:63bf:3fff:fdd2", "::127.0.0.1", "::93.184.216.34"],
    "no address": ["", "localhost", "1.2.3", "::g"],
}


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_of_the_internet_is_public_however_it_is_wrapped(address):
    assert is_public(address)
    if "." in address:
        assert all(map(is_public, wrap(address)))


@pytest.mark.parametrize("address", [address for addresses in NOT_PUBLIC.values() for address in addresses])
def test_any_other_address_is_not_public_however_it_is_wrapped(address):
    assert not is_public(address)
    if address.count(".") == 3 and ":" not in address:
        assert not any(map(is_public, wrap(address)))


def wrap(address):
    """The IPv6 addresses that lead to an IPv4 one: mapped, through NAT64, and 6to4."""
    first, second = (f"{int(IPv4Address(address)) >> bits & 0xFFFF:x}" for bits in (16, 0))
    return f"::ffff:{address}", f"64:ff9b::{address}", f"2002:{first}:{second}::1"
