"""Django's ASGI handler, which stays able to answer when something outside of its middleware fails."""

from __future__ import annotations

import io
import json
from typing import Any

import structlog
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler

from apps.core.http import error_body
from apps.core.outages import describe_outage

logger = structlog.get_logger(__name__)

INTERNAL_ERROR = "An internal error occurred. The details are in the server log."


class UnkeptBody(io.BytesIO):
    """Stands for a body that could not be kept: a long one goes to a temporary file, and its disk may be full."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error


class Handler(ASGIHandler):
    """Django's, with two kinds of failure answered that would reach the server, whose answer is in nobody's format."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        started = False

        async def note_start(message: Any) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await super().__call__(scope, receive, note_start)
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
