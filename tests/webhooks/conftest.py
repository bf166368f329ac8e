"""A receiver of webhooks on loopback, and hooks that lead to it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from apps.accounts.models import User
from apps.webhooks.models import Event, Webhook
from apps.webhooks.services import save_webhook
from tests.support.factories import UserFactory


@dataclass
class Receiver:
    """What came: headers and body of each request. `statuses`: what it answers, 204 once they are used up.

    `goes_on`: it answers only while this is set.
    """

    url: str = ""
    requests: list[tuple[dict[str, str], str]] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    goes_on: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    receiver.goes_on.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            receiver.requests.append(({name.lower(): value for name, value in self.headers.items()}, body))
            receiver.goes_on.wait(30)
            status = receiver.statuses.pop(0) if receiver.statuses else 204
            self.send_response(status)
            self.send_header("Content-Length", "0")
            if status == 302:
                self.send_header("Location", f"{receiver.url}elsewhere")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver.url = f"http://127.0.0.1:{server.server_address[1]}/"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield receiver
        receiver.goes_on.set()
        server.shutdown()


@pytest.fixture(autouse=True)
def _webhooks_are_on(settings: Any) -> None:
    settings.WEBHOOKS = "private"


@pytest.fixture
def mei(db: None) -> User:
    return UserFactory.create(username="mei")


def make_hook(user: User | None, url: str = "https://example.org/", **given: Any) -> Webhook:
    webhook = Webhook(**{"user": user, "url": url, "events": list(Event), **given})
    save_webhook(webhook)
    return webhook
