"""The page that asks whether an application may use one's memory, and the list of what was let in (T2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Page, Route, expect

from apps.accounts.models import User
from apps.gateway.models import ConnectedApp
from tests.support.http_server import HttpServer
from tests.support.oauth import CALLBACK, App

pytestmark = pytest.mark.spec("T2", "M7")


@pytest.fixture
def app(http_server: HttpServer) -> Iterator[App]:
    """An application that has registered."""
    with httpx2.Client(base_url=http_server.url, timeout=30) as client:
        app = App(client)
        app.register(client_name="Claude Code").raise_for_status()
        yield app


def receive(page: Page) -> list[str]:
    """Be the application to which the browser is sent back; returns the addresses that it was sent to."""
    received: list[str] = []

    def answer(route: Route) -> None:
        received.append(route.request.url)
        route.fulfill(body="connected", content_type="text/plain")

    page.route(re.compile(re.escape(CALLBACK)), answer)
    return received


def test_a_person_lets_an_application_in_and_out_again(
    app: App,
    open_panel: Callable[..., Page],
    inspect: Callable[..., None],
    mei: User,
    look: dict[str, Any],
) -> None:
    page = open_panel(mei, app.authorization(), **look)
    received = receive(page)
    chinese = look["language"] == "zh-CN"
    expect(page.get_by_role("heading")).to_contain_text("Claude Code")
    expect(page.locator(".consent-target")).to_contain_text("localhost:33418")
    inspect(page, "consent")
    page.get_by_role("radio").first.focus()
    page.keyboard.press("ArrowDown")  # the second choice: read only
    expect(page.get_by_role("radio", name="只读" if chinese else "Read only")).to_be_checked()
    inspect(page, "consent-read-only")
    page.get_by_role("button", name="允许" if chinese else "Allow").click()
    expect(page.get_by_text("connected")).to_be_visible()
    (address,) = received
    code = re.search(r"code=([^&]+)", address)
    assert code is not None
    assert app.redeem(code[1]).json()["scope"] == "read"

    page.goto("/admin/gateway/connectedapp/")
    expect(
        page.get_by_role("cell", name="Claude Code").or_(page.get_by_role("rowheader", name="Claude Code")).first
    ).to_be_visible()
    inspect(page, "connected")
    ConnectedApp.objects.get()


def test_cancelling_and_errors(
    app: App, open_panel: Callable[..., Page], inspect: Callable[..., None], mei: User
) -> None:
    page = open_panel(mei, app.authorization(), language="en-US")
    received = receive(page)
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("connected")).to_be_visible()
    assert "error=access_denied" in received[0]
    page.goto(app.authorization(client_id="nobody"))
    expect(page.get_by_role("heading", name="This request cannot be answered")).to_be_visible()
    inspect(page, "error")
    assert not ConnectedApp.objects.exists()
