"""The panel's frame: menu, languages, themes, phones, logging in."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from playwright.sync_api import BrowserContext, expect

from apps.accounts.models import User
from apps.memory.lifecycle import create_atomic_memory
from tests.e2e.conftest import PASSWORD
from tests.e2e.panel.conftest import OpenPanel

pytestmark = pytest.mark.spec("M7")


def test_times_are_the_browsers_from_the_first_page_after_logging_in(
    new_context: Callable[..., BrowserContext], mei: User
) -> None:
    late = datetime(2026, 11, 8, 20, 30, tzinfo=UTC)
    create_atomic_memory(user=mei, content="The user came home.", timestamp=late, now=late)
    page = new_context().new_page()
    page.goto("/admin/memory/change/")
    page.locator("#id_username").fill("mei")
    page.locator("#id_password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.locator(".change time").first).to_have_attribute("title", re.compile("2026年11月9日 04:30"))


def test_the_zone_is_told_by_a_page_of_the_panel_too(open_panel: OpenPanel, mei: User) -> None:
    page = open_panel(mei, "/admin/memories/")
    assert "zone=Asia%2FShanghai" in page.evaluate("document.cookie")


def test_what_scripts_do_in_the_frame_works_under_the_policy(open_panel: OpenPanel, staff: User) -> None:
    """All that unfold does by expressions in attributes, which a strict policy lets nobody evaluate as scripts."""
    User.objects.filter(pk=staff.pk).update(is_superuser=True)
    User.objects.bulk_create(User(username=f"person{number:03}") for number in range(120))
    page = open_panel(staff, "/admin/accounts/user/", language="en-US")

    sidebar = page.locator("#nav-sidebar")
    expect(sidebar).to_be_visible()
    page.get_by_text("dock_to_right", exact=True).filter(visible=True).click()
    expect(sidebar).to_be_hidden()
    page.reload()
    expect(sidebar).to_be_hidden()
    page.get_by_text("dock_to_right", exact=True).filter(visible=True).click()
    expect(sidebar).to_be_visible()

    page.get_by_role("link", name="2", exact=True).click()
    page.wait_for_url("**/admin/accounts/user/?p=2")

    for theme in ("light", "dark"):  # it was the system's before
        page.keyboard.press("Control+e")
        expect(page.locator("html")).to_have_class(re.compile(theme))

    page.goto(f"/admin/accounts/user/{staff.pk}/change/")
    expect(page.locator("#user_form")).to_have_attribute("action", f"/admin/accounts/user/{staff.pk}/change/")

    page.locator("h1").click()
    page.wait_for_function("window.Alpine && document.body._x_dataStack")  # the frame's scripts have begun
    page.keyboard.press("Control+k")
    palette = page.locator("#search-input-command")
    expect(palette).to_be_visible()
    palette.press_sequentially("users")
    first = page.locator("#command-results a").first
    expect(first).to_be_visible()
    address = first.get_attribute("href")
    palette.press("ArrowDown")
    palette.press("Enter")
    page.wait_for_url(f"**{address}")
