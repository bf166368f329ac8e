"""A real Chromium before the running product. These tests run in a pytest process of their own (marker `e2e`).

`make test` runs the journeys (marker `journey`): what people do every day. The others are long, and one that fails runs
again, once: pytest's summary lists it as RERUN. A journey has to pass the first time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, expect

from apps.accounts.models import User
from apps.core.management.commands.compilemessages import compile_catalogs
from tests.e2e.chat_page import ChatPage
from tests.support.browser import find_chromium
from tests.support.http_server import HttpServer

PASSWORD = "correct horse battery staple"
SCREENSHOTS = Path(".test-output/screenshots")
_failed = pytest.StashKey[bool]()
TRACES = Path(".test-output/traces")
TIMEOUT_MS = 10_000  # of one expectation; ordinarily they are met at once, on a busy machine later
CHROMIUM_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.e2e)
            if item.get_closest_marker("journey") is None:
                item.add_marker(pytest.mark.long)
                item.add_marker(pytest.mark.flaky(reruns=1))


def keeps_pictures(config: pytest.Config) -> bool:
    """Whether pictures are asked for (``--screenshot=on``)."""
    return bool(config.getoption("--screenshot") == "on")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.stash[_failed] = True
    return report


@pytest.fixture(scope="session", autouse=True)
def _sync_orm_beside_the_browser() -> Iterator[None]:
    """Playwright's sync API runs an event loop in this thread, which Django takes for async code."""
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    compile_catalogs(django_settings.LOCALE_PATHS)
    expect.set_options(timeout=TIMEOUT_MS)
    yield
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    return {**browser_type_launch_args, "executable_path": find_chromium(), "args": list(CHROMIUM_FLAGS)}


@pytest.fixture(autouse=True)
def _offline_model(settings: Any) -> None:
    settings.OPENAI_API_KEY = settings.OPENAI_BASE_URL = settings.CHAT_MODEL = ""


@pytest.fixture
def mei(http_server: HttpServer) -> User:
    """The person before the browser."""
    return User.objects.create_user("mei", password=PASSWORD)


@pytest.fixture
def new_context(
    browser: Browser, http_server: HttpServer, request: pytest.FixtureRequest
) -> Iterator[Callable[..., BrowserContext]]:
    """Make browser contexts; no script may have failed or been blocked.

    Where the test failed, the picture of each page is kept, and a trace of what happened (``playwright show-trace``);
    with ``--screenshot=on`` the picture always.
    """
    contexts: list[BrowserContext] = []
    mistakes: list[str] = []

    def note_blocked(line: ConsoleMessage) -> None:
        if "Content Security" in line.text:
            mistakes.append(line.text)

    def make(
        *, language: str = "zh-CN", size: tuple[int, int] = (1440, 900), dark: bool = False, **options: Any
    ) -> BrowserContext:
        context = browser.new_context(
            base_url=http_server.url,
            locale=language,
            timezone_id="Asia/Shanghai",
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            **options,
        )
        context.set_default_timeout(TIMEOUT_MS)
        # Snapshots of the page take a fifth of the time of all journeys, which gate every change.
        context.tracing.start(snapshots=request.node.get_closest_marker("journey") is None)
        context.on("weberror", lambda error: mistakes.append(str(error.error)))
        context.on("console", note_blocked)
        contexts.append(context)
        return context

    yield make
    name = re.sub(r"[^\w-]+", "-", request.node.name).strip("-")
    failed = request.node.stash.get(_failed, False)
    for place, context in enumerate(contexts):
        for number, page in enumerate(context.pages if failed or keeps_pictures(request.config) else ()):
            page.screenshot(path=SCREENSHOTS / f"{name}{number or ''}.png")
        context.tracing.stop(path=TRACES / f"{name}{place or ''}.zip" if failed else None)
        context.close()
    assert mistakes == []


@pytest.fixture
def open_chat(
    new_context: Callable[..., BrowserContext], mei: User, http_server: HttpServer
) -> Callable[..., ChatPage]:
    """Open the chat page, logged in as mei: ``open_chat(path="/", **options of new_context)``."""
    django_client = Client()
    django_client.force_login(mei)
    session = django_client.cookies[django_settings.SESSION_COOKIE_NAME].value

    def open_page(path: str = "/", **options: Any) -> ChatPage:
        context = new_context(**options)
        cookie = {"name": django_settings.SESSION_COOKIE_NAME, "value": session, "url": http_server.url}
        context.add_cookies([cookie])  # type: ignore[list-item]
        chat = ChatPage(context.new_page())
        chat.page.goto(path)
        if path == "/":  # Enter is only heard once the page's scripts have run, which takes a busy machine seconds
            expect(chat.draft).to_have_attribute("style", re.compile("block-size"))
        return chat

    return open_page


@pytest.fixture
def chat(open_chat: Callable[..., ChatPage]) -> ChatPage:
    """The chat page in Chinese on a wide screen."""
    return open_chat()
