"""The panel in a real Chromium: who looks at it, and what every page is held to."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings as django_settings
from django.test import Client
from playwright.sync_api import BrowserContext, Page

from apps.accounts.models import User
from tests.e2e.conftest import SCREENSHOTS, keeps_pictures
from tests.support.http_server import HttpServer

_AXE_OPTIONS = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]},
    "resultTypes": ["violations"],
}
_FIND_VIOLATIONS = """async ({ without, ...options }) => {
    const { violations } = await axe.run({ exclude: without }, options);
    return violations
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 5).map(({ target }) => target).join(", ")}`);
}"""
_FIND_SIDEWAYS_SCROLL = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth + 1"

OpenPanel = Callable[..., Page]
Inspect = Callable[..., None]

# Options of `open_panel`.
LOOKS = {
    "zh": {"language": "zh-CN"},
    "en": {"language": "en-US"},
    "dark": {"language": "en-US", "dark": True},
    "phone": {"language": "zh-CN", "size": (390, 844)},
    "night": {"language": "en-US", "dark": True, "size": (390, 844)},
}


@pytest.fixture(params=["zh", "dark", "phone"])
def look(request: pytest.FixtureRequest) -> dict[str, Any]:
    """How a page is looked at: ``open_panel(user, path, **look)``. Whoever asks for it is run with each of these;
    others of `LOOKS` are had by ``@pytest.mark.parametrize("look", ["zh", "en"], indirect=True)``."""
    return LOOKS[request.param]


@pytest.fixture
def staff(http_server: HttpServer) -> User:
    """Somebody who looks after everybody's memories."""
    return User.objects.create_user("tang", is_staff=True)


@pytest.fixture
def open_panel(new_context: Callable[..., BrowserContext], http_server: HttpServer) -> OpenPanel:
    """Open a page of the panel: ``open_panel(user, "/admin/", **options of new_context)``."""

    def open_page(user: User, path: str = "/admin/", **options: Any) -> Page:
        django_client = Client()
        django_client.force_login(user)
        session = django_client.cookies[django_settings.SESSION_COOKIE_NAME].value
        context = new_context(**options)
        cookie = {"name": django_settings.SESSION_COOKIE_NAME, "value": session, "url": http_server.url}
        context.add_cookies([cookie])  # type: ignore[list-item]
        page = context.new_page()
        response = page.goto(path)
        assert response is not None
        assert response.status == 200, response.status
        return page

    return open_page


@pytest.fixture
def inspect(request: pytest.FixtureRequest) -> Inspect:
    """Hold a page to what every page is held to: no serious violation of WCAG A and AA, and nothing wider than the
    window. ``inspect(page, "name")`` keeps its picture with ``--screenshot=on``; `without`: what was looked at on
    another page."""

    def inspect_page(page: Page, name: str = "", *, without: Sequence[str] = ()) -> None:
        page.evaluate("() => document.fonts.ready.then(() => true)")
        stem = re.sub(r"[^\w-]+", "-", f"{request.node.name}-{name}").strip("-")
        if keeps_pictures(request.config):
            page.screenshot(path=Path(SCREENSHOTS) / f"{stem}.jpg", full_page=True, type="jpeg", quality=70)
        assert not page.evaluate(_FIND_SIDEWAYS_SCROLL), "the page scrolls sideways"
        assert list_violations(page, without=without) == []

    return inspect_page


def list_violations(page: Page, *, without: Sequence[str] = ()) -> list[str]:
    """What axe finds serious or critical, a line for each kind: its name and the elements."""
    page.evaluate(Axe().axe_script)
    return list(page.evaluate(_FIND_VIOLATIONS, {**_AXE_OPTIONS, "without": list(without)}))
