"""One's account in a browser: logging in, letting an application in, settings and tokens, erasing everything."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import httpx2
import pytest
from playwright.sync_api import BrowserContext, expect

from apps.accounts.models import User
from apps.accounts.selectors import get_settings
from apps.doors.models import ConnectedApp
from apps.memory.models import LongTermMemory
from tests.e2e.chat_page import read_clipboard
from tests.e2e.panel.conftest import Inspect, OpenPanel
from tests.support.factories import LongTermMemoryFactory
from tests.support.http_server import HttpServer
from tests.support.oauth import App


@pytest.mark.spec("M7")
def test_the_pages_before_one_is_logged_in(
    new_context: Callable[..., BrowserContext], inspect: Inspect, mei: User, settings: Any, look: dict[str, Any]
) -> None:
    settings.SENDS_MAIL, settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID = True, "http://127.0.0.1:9", "jiyi"
    settings.OIDC_NAME = "Example"
    settings.LOGIN_FAILURE_LIMIT = 2
    page = new_context(**look).new_page()
    page.goto("/login")
    inspect(page, "login")
    for number in range(2):
        page.locator("#id_username").fill("mei")
        page.locator("#id_password").fill(f"wrong {number}")
        page.locator("#id_password").press("Enter")
        expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_text(re.compile("15"))
    inspect(page, "locked")
    page.goto("/login/reset")
    inspect(page, "reset")
    page.locator("#id_email").fill("mei@example.org")
    page.locator("#id_email").press("Enter")
    page.wait_for_url("**/login/reset/sent")
    inspect(page, "sent")
    page.goto("/login/reset/MQ/none")
    inspect(page, "void")
    settings.SENDS_MAIL = False
    page.goto("/login/reset")
    inspect(page, "no mail")


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


@pytest.mark.spec("T2", "M7")
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


@pytest.mark.spec("G1", "M5", "M7")
def test_somebody_changes_their_settings(open_panel: OpenPanel, inspect: Inspect, mei: User) -> None:
    page = open_panel(mei, "/admin/settings/", language="en-US", dark=True)
    page.get_by_label("Atomic memories per reply").fill("8")
    page.get_by_role("switch", name="Search by meaning too").uncheck()
    slider = page.get_by_role("slider", name="Match weight")
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(f"output[for='{slider.get_attribute('id')}']")).to_have_text("0.41")
    expect(page.get_by_text("Unsaved")).to_be_visible()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("3 settings were changed.")).to_be_visible()
    changed = get_settings(mei)
    assert (changed.rag_top_n, changed.semantic_candidates, changed.score_weights.keyword) == (8, False, 0.41)
    page.get_by_role("button", name="Reset to default: Atomic memories per reply").click()
    expect(page.get_by_text("was reset to its default")).to_be_visible()
    page.get_by_label("Token budget").fill("12")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("Token budget")).to_have_attribute("aria-invalid", "true")
    inspect(page, "dark")
    assert get_settings(mei).token_budget == 6000


@pytest.mark.spec("G1", "M5", "M7")
def test_a_token_is_made_and_copied(open_panel: OpenPanel, inspect: Inspect, mei: User) -> None:
    page = open_panel(mei, "/admin/accounts/apitoken/add/", permissions=["clipboard-read", "clipboard-write"])
    inspect(page, "form")
    page.get_by_label("用途").fill("笔记本")
    page.get_by_role("button", name="创建令牌").click()
    token = page.locator("#token").inner_text()
    page.get_by_role("button", name="复制").first.click()
    expect(page.get_by_role("button", name="已复制")).to_be_visible()
    assert read_clipboard(page) == token
    inspect(page, "made")
    page.get_by_role("link", name="全部令牌").click()
    expect(page.get_by_text("笔记本")).to_be_visible()
    inspect(page, "list")


@pytest.mark.journey
@pytest.mark.spec("R3", "M7")
def test_somebody_erases_everything_of_theirs(open_panel: OpenPanel, inspect: Inspect, mei: User, staff: User) -> None:
    LongTermMemoryFactory.create_batch(3, user=mei)
    LongTermMemoryFactory.create(user=staff)
    page = open_panel(mei, "/admin/erasure/")
    inspect(page, "before")
    with page.expect_download() as exported:
        page.get_by_role("link", name="先导出").click()
    assert len(json.loads(exported.value.path().read_text())["data"]["long_term_memory"]) == 3
    button = page.get_by_role("button", name="清除全部数据")
    expect(button).to_be_disabled()
    page.get_by_label("请输入用户名").fill("mei")
    button.click()
    expect(page.get_by_role("heading", name="数据已全部清除")).to_be_visible()
    with page.expect_download() as receipt:
        page.get_by_role("link", name="下载回执").click()
    said = json.loads(receipt.value.path().read_text())
    assert (said["user"], said["verified"], said["deleted"]["long_term_memory"]) == (mei.pk, True, 3)
    assert LongTermMemory.objects.get().user == staff
    inspect(page, "receipt")
