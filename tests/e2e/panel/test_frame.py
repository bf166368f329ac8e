"""The panel's frame: menu, languages, themes, phones, logging in."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from apps.accounts.models import User
from tests.e2e.conftest import PASSWORD

pytestmark = pytest.mark.spec("M7")


@pytest.mark.parametrize("look", ["zh", "en", "dark", "phone"], indirect=True)
def test_the_menu_of_somebody_without_a_staff_account(
    open_panel: Callable[..., Page], inspect: Callable[..., None], mei: User, look: dict[str, Any]
) -> None:
    page = open_panel(mei, "/admin/memory/longtermmemory/", **look)
    links = page.locator("#nav-sidebar a, nav a").evaluate_all("links => links.map((link) => link.pathname)")
    assert "/admin/memories/" in links
    assert "/admin/accounts/user/" not in links
    inspect(page)
    page.goto("/admin/settings/")
    inspect(page, "settings")
    expect(page.locator(".more-places a[href='/admin/transfer/']")).to_be_visible()


@pytest.mark.parametrize("look", ["zh", "night"], indirect=True)
def test_staff_unfold_the_technical_tables(
    open_panel: Callable[..., Page], inspect: Callable[..., None], staff: User, look: dict[str, Any]
) -> None:
    page = open_panel(staff, **look)
    if look.get("size"):
        page.get_by_text("dock_to_right", exact=True).filter(visible=True).click()
    fold = page.locator(".menu-fold")
    turns = page.locator("#nav-sidebar a[href='/admin/chat/turn/']")
    expect(turns).to_be_hidden()
    fold.focus()
    page.keyboard.press("Enter")
    expect(turns).to_be_visible()
    expect(fold).to_have_attribute("aria-expanded", "true")
    inspect(page)


def test_logging_in_leads_back_to_the_page(new_context: Callable[..., BrowserContext], mei: User) -> None:
    page = new_context().new_page()
    page.goto("/admin/memory/atomicmemory/")
    expect(page).to_have_url(re.compile("/login"))
    page.get_by_label("用户名").fill("mei")
    page.get_by_label("密码").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/admin/memory/atomicmemory/$"))
