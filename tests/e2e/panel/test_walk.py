"""Every page of the menu, those that belong to it, and a row of each, in every look, for staff and for somebody else,
with text that means harm in every field: it is shown as text, axe finds nothing serious, nothing scrolls sideways.
"""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Dialog, Page

from apps.accounts.models import User
from tests.contracts.world import build_world
from tests.e2e.panel.conftest import Inspect, OpenPanel
from tests.support.factories import LongTermMemoryFactory
from tests.support.http_server import ApiClient, HttpServer

HOSTILE = (
    "<script>document.title='pwned'</script><img src=x onerror=\"document.title='pwned'\">"
    "{{ 7*7 }}]]>\u202egnirts\u202c"
)
MENU = (
    "#nav-sidebar a[href^='/admin/'], .place-tabs a[href^='/admin/'], .more-places a[href^='/admin/'],"
    " .filter-group a[href*='kind=']"
)

pytestmark = [pytest.mark.spec("M5", "M7"), pytest.mark.timeout(300)]  # about seventy pages each


@pytest.fixture
def mei(http_server: HttpServer, settings: Any) -> User:
    """Somebody whose every field holds what means harm, and one memory of almost 100 kB."""
    settings.WEBHOOKS = "public"
    user = User.objects.create_user("mei", password="correct horse battery staple")
    with ApiClient(http_server, user) as client:
        build_world(client, secret=HOSTILE)
    LongTermMemoryFactory(user=user, key="long", value="长" * 31_990)
    return user


def list_pages(page: Page) -> list[str]:
    """The addresses in the menu and of the pages that belong to this one, each once; no combinations of filters."""
    found = page.locator(MENU).evaluate_all("links => links.map((link) => link.pathname + link.search)")
    return [address for address in dict.fromkeys(found) if "&" not in address]


def find_row(page: Page) -> str | None:
    """The address of the first row of a list, if the page has one."""
    links = page.locator("#content-main a[href*='/change/']")
    return links.first.get_attribute("href") if links.count() else None


def walk(page: Page, inspect: Inspect, name: str) -> dict[str, str]:
    """Look at each page of the menu or that belongs to one, and at its first row; return what is wrong by address."""
    problems: dict[str, str] = {}

    def refuse(dialog: Dialog) -> None:
        problems[page.url] = f"opened a dialog: {dialog.message}"
        dialog.dismiss()

    page.on("dialog", refuse)
    addresses = list_pages(page)
    for address in addresses:
        rows = [address]
        for url in rows:
            answer = page.goto(url)
            assert answer is not None
            if answer.status != 200:
                problems[url] = f"answered {answer.status}"
                continue
            try:
                inspect(page, f"{name}-{url}", without=[] if url == addresses[0] else ["#nav-sidebar"])
            except AssertionError as error:
                problems[url] = str(error).splitlines()[0]
            if page.title().endswith("pwned"):
                problems[url] = "ran a script"
            if url == address:
                addresses += [found for found in list_pages(page) if found not in addresses]
                if row := find_row(page):
                    rows.append(row)
    assert len(addresses) >= 20
    return problems


@pytest.mark.parametrize(
    ("look", "who"), [("zh", "mei"), ("en", "staff"), ("dark", "mei"), ("phone", "staff")], indirect=["look"]
)
def test_every_page(
    open_panel: OpenPanel, inspect: Inspect, staff: User, mei: User, look: dict[str, Any], who: str
) -> None:
    user = {"mei": mei, "staff": staff}[who]
    assert walk(open_panel(user, **look), inspect, str(user)) == {}
