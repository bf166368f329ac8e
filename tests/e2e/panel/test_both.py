"""The list of both kinds of memories in a real Chromium."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from apps.accounts.models import User
from apps.memory.atomic.services import create_atomic_memory
from apps.memory.services import create_memory

LIST = "/admin/memories/"

pytestmark = pytest.mark.spec("M1", "M3", "M5")


def fill(user: User) -> None:
    now = timezone.now() - timedelta(hours=1)
    create_memory(user=user, category="preference", key="喜欢的颜色", value="蓝色", now=now, confidence=0.95)
    create_memory(user=user, category="fact", key="allergies", value=["peanuts", "芒果"], now=now, source="inferred")
    create_memory(user=user, category="pattern", key="sleep", value="Gets up at six even on weekends. " * 20, now=now)
    create_atomic_memory(
        user=user, content="用户和妹妹去爬了香山，看到了红叶。", tags=["家人", "旅行"], now=now, event_start=now
    )
    create_atomic_memory(user=user, content="The user adopted a cat called Mochi.", tags=["pets"], now=now)


@pytest.mark.parametrize("look", ["zh", "en", "dark", "night"], indirect=True)
def test_both_kinds_as_cards_and_as_table(
    open_panel: Callable[..., Page], inspect: Callable[..., None], mei: User, look: dict[str, Any]
) -> None:
    fill(mei)
    page = open_panel(mei, LIST, **look)
    expect(page.locator("tbody .memory")).to_have_count(5)
    inspect(page, "cards")
    table = page.locator('[data-look-button="table"]')
    if "size" not in look:
        table.click()
        inspect(page, "table")
    page.locator(".add-menu summary").click()
    inspect(page, "add")


@pytest.mark.parametrize(
    ("language", "kind", "everything"), [("zh-CN", "原子记忆", "全部"), ("en-US", "atomic memories", "all")]
)
def test_the_menu_leads_to_both_and_the_kinds_are_a_filter(
    open_panel: Callable[..., Page], mei: User, language: str, kind: str, everything: str
) -> None:
    fill(mei)
    page = open_panel(mei, language=language)
    page.locator("#nav-sidebar a[href='/admin/memories/']").click()
    expect(page.locator("tbody .memory")).to_have_count(5)
    kinds = page.locator(".filter-group").first
    kinds.get_by_role("link", name=re.compile(kind)).click()
    expect(page).to_have_url(re.compile("/admin/memory/atomicmemory/$"))
    expect(page.locator("tbody .memory")).to_have_count(2)
    kinds.get_by_role("link", name=re.compile(f"^{everything}")).click()
    expect(page.locator("tbody .memory")).to_have_count(5)
    page.keyboard.press("/")
    page.keyboard.type("Mochi")
    expect(page.locator("tbody mark")).to_have_text(["Mochi"])


def test_each_kind_is_added_edited_and_deleted_with_the_keyboard(open_panel: Callable[..., Page], mei: User) -> None:
    page = open_panel(mei, LIST, language="en-US")
    add = page.locator(".add-menu summary")
    rows = page.locator("tbody .memory")
    add.press("Enter")
    page.get_by_role("link", name="Atomic memory").press("Enter")
    page.get_by_label("Content", exact=True).fill("The user sails.")
    page.get_by_label("Content", exact=True).press("Control+Enter")
    expect(rows).to_have_count(1)
    expect(page.get_by_role("link", name="Atomic memory")).to_be_hidden()
    add.press("Enter")
    page.get_by_role("link", name="Long-term memory").press("Enter")
    page.get_by_label("Key").fill("boat")
    page.get_by_label("Value").fill("a dinghy")
    page.get_by_label("Value").press("Control+Enter")
    expect(rows).to_have_count(2)
    expect(rows.first.get_by_role("button", name="Edit boat")).to_be_focused()  # once the row is at work
    page.keyboard.press("Enter")
    page.get_by_label("Value").fill("a sloop")
    page.get_by_label("Value").press("Control+Enter")
    expect(rows.first.locator(".memory__value")).to_have_text("a sloop")
    expect(rows.first.get_by_role("button", name="Edit boat")).to_be_focused()
    page.get_by_label("Select The user sails.").check()
    page.get_by_label("Select boat").check()
    page.get_by_role("button", name="Delete…", exact=True).filter(has_text="Delete…").first.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Delete 2 memories?")
    dialog.get_by_role("button", name="Delete permanently").press("Enter")
    expect(page.get_by_text("No memories yet.")).to_be_visible()
