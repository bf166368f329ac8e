"""The page that asks whether an application may use one's memory, and the list of what was let in (T2)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import httpx2
import pytest
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.doors.models import ConnectedApp
from tests.e2e.panel.conftest import Inspect, OpenPanel
from tests.support.http_server import HttpServer
from tests.support.oauth import App

pytestmark = pytest.mark.spec("T2", "M7")


class Callback(ThreadingHTTPServer):
    """The application's own little server, to which the browser is sent back, as real ones have."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.address = f"http://localhost:{self.server_port}/callback"
        self.received: list[str] = []


class _Answer(BaseHTTPRequestHandler):
    server: Callback

    def do_GET(self) -> None:
        if self.path.startswith("/callback"):
            self.server.received.append(self.path)
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        self.wfile.write(b"connected")

    def log_message(self, *_args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def callback() -> Iterator[Callback]:
    """Where the application listens."""
    with Callback() as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def app(http_server: HttpServer, callback: Callback) -> Iterator[App]:
    """An application that has registered."""
    with httpx2.Client(base_url=http_server.url, timeout=200) as client:
        app = App(client)
        app.register(client_name="Claude Code", redirect_uris=[callback.address]).raise_for_status()
        yield app


def test_a_person_lets_an_application_in_and_out_again(
    app: App, callback: Callback, open_panel: OpenPanel, inspect: Inspect, mei: User, look: dict[str, Any]
) -> None:
    page = open_panel(mei, app.authorization(redirect_uri=callback.address), **look)
    expect(page.get_by_role("heading")).to_contain_text("Claude Code")
    expect(page.locator(".consent-target")).to_contain_text(f"localhost:{callback.server_port}")
    inspect(page, "consent")
    page.get_by_role("radio").first.focus()
    page.keyboard.press("ArrowDown")  # the second choice: read only
    expect(page.get_by_role("radio").nth(1)).to_be_checked()
    inspect(page, "consent-read-only")
    page.get_by_role("button", name=re.compile("允许|Allow")).click()
    expect(page.get_by_text("connected")).to_be_visible()
    (address,) = callback.received
    code = re.search(r"code=([^&]+)", address)
    assert code is not None
    assert app.redeem(code[1], redirect_uri=callback.address).json()["scope"] == "read"

    page.goto("/admin/doors/connectedapp/")
    expect(
        page.get_by_role("cell", name="Claude Code").or_(page.get_by_role("rowheader", name="Claude Code")).first
    ).to_be_visible()
    inspect(page, "connected")
    ConnectedApp.objects.get()
