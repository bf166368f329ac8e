"""Run an ASGI application for one request that came through Django."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from django.http import HttpRequest, HttpResponse

Application = Callable[[Any, Any, Any], Awaitable[None]]


async def run_application(
    application: Application, request: HttpRequest, *, body: bytes, headers: Mapping[str, str], state: Mapping[str, Any]
) -> HttpResponse:
    """Return what the application answers, whole; `state` is in its scope.

    It sees the method, the path, the headers, of which `headers` are others than the client's, and the body. It must
    end its answer by itself: no stream goes through.
    """
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.scheme,
        "path": request.path,
        "raw_path": request.path.encode(),
        "query_string": request.META.get("QUERY_STRING", "").encode("latin-1"),
        "root_path": "",
        "headers": [
            (name.lower().encode("latin-1"), value.strip(" \t").encode("latin-1", "replace"))
            for name, value in {**request.headers, **headers}.items()
        ],
        "state": dict(state),
    }
    waiting = [{"type": "http.request", "body": body, "more_body": False}]
    response = HttpResponse()
    del response.headers["Content-Type"]

    async def receive() -> dict[str, Any]:
        if waiting:
            return waiting.pop()
        await anyio.sleep_forever()  # a client that leaves cancels the view, and this with it
        raise AssertionError("never awake")

    async def send(message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            response.status_code = message["status"]
            for name, value in message.get("headers", ()):
                if name.lower() != b"content-length":
                    response.headers[name.decode("latin-1")] = value.decode("latin-1")
        else:
            response.write(message.get("body", b""))

    await application(scope, receive, send)
    return response
