"""Uvicorn's HTTP, which cuts connections on which a client sends nothing: ``--http apps.core.http_protocol:Protocol``.

Uvicorn itself waits without end for the first request, for the rest of a header and for the rest of a body, so that
whoever opens connections and is silent takes all that the process may have. Named on uvicorn's command line, so it must
not import Django.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

# The limit for the whole header of a request, from the connection or the request's first byte on.
HEADER_SECONDS = 30.0

# The longest silence within a body.
BODY_SECONDS = 60.0


class Protocol(HttpToolsProtocol):
    """A connection that is open only as long as its client sends a request or waits for an answer."""

    _deadline: asyncio.TimerHandle | None = None
    _in_body = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        self._wait(HEADER_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._in_body:
            self._wait(BODY_SECONDS)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._wait(HEADER_SECONDS)

    def on_headers_complete(self) -> Any:
        self._in_body = True
        self._wait(BODY_SECONDS)
        return super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_body = False
        self._stop_waiting()  # the answer is ours to give
        super().on_message_complete()

    def _wait(self, seconds: float) -> None:
        self._stop_waiting()
        self._deadline = self.loop.call_later(seconds, self._cut, seconds)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _cut(self, seconds: float) -> None:
        if self.flow.read_paused:  # it is we who do not read
            self._wait(seconds)
        else:
            self.transport.close()
