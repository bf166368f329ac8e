"""Django's ASGI handler, which stays able to answer when something outside of its middleware fails, and refuses what is
too long before it is sent.
"""

from __future__ import annotations

import asyncio
import io
import json
from contextlib import suppress
from typing import Any

import structlog
from django.conf import settings
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler

from apps.core.errors import TooLarge
from apps.core.http import error_body
from apps.core.outages import describe_outage

logger = structlog.get_logger(__name__)

INTERNAL_ERROR = "An internal error occurred. The details are in the server log."


# The part of a body around the file in it. deploy/nginx has the sum of both.
FORM_BYTES = 64 * 1024

# How much of a refused body is still read: a client that goes on sending may not hear the answer before.
DRAINED_BYTES, DRAINED_SECONDS = 16 * 1024**2, 10


class UnkeptBody(io.BytesIO):
    """Stands for a body that could not be kept: a long one goes to a temporary file, and its disk may be full."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error


class Handler(ASGIHandler):
    """Django's, with failures answered that would reach the server, whose answer is in nobody's format."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        started = False
        received = 0

        async def count_body() -> Any:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > _get_limit():  # of a body that did not say how long it is
                raise _make_too_large()
            return message

        async def note_start(message: Any) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        if _read_length(scope) > _get_limit():
            await _refuse(_make_too_large(), receive, send)
            return
        try:
            await super().__call__(scope, count_body, note_start)
        except TooLarge as error:
            await _refuse(error, receive, send)
        except Exception as error:
            if started:
                raise
            logger.exception("request.failed", exc_info=error)
            await _answer(error, send)

    async def read_body(self, receive: Any) -> Any:
        try:
            return await super().read_body(receive)
        except RequestAborted:
            raise
        except OSError as error:
            logger.error("request.body_not_kept", exc_info=error)
            await _skip_body(receive)
            return UnkeptBody(error)

    def create_request(self, scope: Any, body_file: Any) -> tuple[Any, Any]:
        request, response = super().create_request(scope, body_file)
        if request is not None and isinstance(body_file, UnkeptBody):
            setattr(request, "unkept_body", body_file.error)  # noqa: B010  # for `UnkeptBodyMiddleware`
        return request, response


def _get_limit() -> int:
    return int(settings.IMPORT_MAX_BYTES) + FORM_BYTES


def _read_length(scope: Any) -> int:
    """How long the request says that its body is; 0 where it does not say so."""
    length = next((value for name, value in scope.get("headers", ()) if name == b"content-length"), b"")
    return int(length) if length.isdigit() and len(length) < 20 else 0


def _make_too_large() -> TooLarge:
    limit = int(settings.IMPORT_MAX_BYTES)
    return TooLarge(f"The file is larger than {limit // 1024**2} MiB.", fields={"max_bytes": limit})


async def _refuse(error: TooLarge, receive: Any, send: Any) -> None:
    """Answer at once, and read on for a while."""
    body = json.dumps(error_body(error.code, error.message, error.fields)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send(
        {"type": "http.response.start", "status": error.status, "headers": [*headers, (b"connection", b"close")]}
    )
    await send({"type": "http.response.body", "body": body, "more_body": True})
    with suppress(TimeoutError):
        await asyncio.wait_for(_drain(receive), DRAINED_SECONDS)
    await send({"type": "http.response.body", "body": b""})


async def _drain(receive: Any) -> None:
    drained, more = 0, True
    while more and drained < DRAINED_BYTES:
        message = await receive()
        drained += len(message.get("body", b""))
        more = message.get("more_body", False)


async def _skip_body(receive: Any) -> None:
    """Let the client send the rest: it reads no answer before."""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RequestAborted
        if not message.get("more_body", False):
            return


async def _answer(error: Exception, send: Any) -> None:
    outage = describe_outage(error)
    status = outage.status if outage else 500
    body = error_body(outage.code, outage.message) if outage else error_body("internal_error", INTERNAL_ERROR)
    headers = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
    if outage:
        headers += [(name.lower().encode(), value.encode()) for name, value in outage.headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})
