"""What is too long is refused by its length, before anything of it is read, in the API's shape."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from apps.core.asgi import FORM_BYTES, Handler

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


async def test_the_limit_is_the_settings(settings: Any) -> None:
    settings.IMPORT_MAX_BYTES = 3 * MIB
    answer, read = await ask(length=str(4 * MIB), portions=make_portions(1, size=1))
    check_refused(answer, limit=3 * MIB)
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
