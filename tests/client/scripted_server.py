"""A server that answers what a test tells it: for failures that the product does not make at will."""

from __future__ import annotations

import json
import threading
from collections import deque
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Answer:
    """A whole answer. `status` 0 closes the connection without one."""

    status: int
    body: Any = None
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def data(self) -> bytes:
        """The body as it is sent: bytes as they are, else JSON."""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


SESSION = {
    "id": "1", "title": "", "created_at": "2026-11-24T12:00:00Z", "last_active_at": "2026-11-24T12:00:00+08:00",
    "pinned": False, "archived": False, "temporary": False, "space": None, "paused": False, "paused_by": None,
}  # fmt: skip


@dataclass(frozen=True)
class Seen:
    """A request as the server got it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


def refuse(status: int, code: str, *, retry_after: str | None = None, **fields: Any) -> Answer:
    """An error in the API's shape."""
    headers = (("Retry-After", retry_after),) if retry_after else ()
    return Answer(status, {"error": {"code": code, "message": f"It is {code}.", "fields": fields}}, headers)


class ScriptedServer:
    """Answers each request with the next of `answers`, on a free port of loopback."""

    def __init__(self) -> None:
        self.answers: deque[Answer] = deque()
        self.seen: list[Seen] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._make_handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def script(self, *answers: Answer) -> None:
        """Answer the next requests with these."""
        self.answers.extend(answers)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _make_handler(server) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                server.seen.append(Seen(self.command, self.path, dict(self.headers), body))
                answer = server.answers.popleft()
                self.close_connection = True
                if answer.status == 0:
                    return
                self.send_response(answer.status)
                names = {name for name, _value in answer.headers}
                for name, value in answer.headers:
                    self.send_header(name, value)
                if "Content-Type" not in names:
                    self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer.data)))
                self.end_headers()
                self.wfile.write(answer.data)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, *args: object) -> None:
                """Say nothing."""

        return Handler
