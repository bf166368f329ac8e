"""Settings, strategies, accounts and tokens in a browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.accounts.selectors import get_settings
from tests.e2e.chat_page import read_clipboard
from tests.e2e.panel.conftest import Inspect, OpenPanel

pytestmark = pytest.mark.spec("G1", "M5", "M7")


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
