"""Everything from one source in a browser: from a change to the list, undone with one click, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from apps.accounts.models import User
from apps.memory.models import LongTermMemory
from tests.panel.test_sources import CLEAN, POISONED, poison, show

pytestmark = pytest.mark.spec("L7", "M6")


def test_a_poisoned_conversation_is_undone_with_one_click_and_back(
    open_panel: Callable[..., Page], inspect: Callable[..., None], mei: User, look: dict[str, Any]
) -> None:
    message = poison(mei)
    page = open_panel(mei, reverse("admin:memory_change_changelist"), **look)
    inspect(page, "changes")
    page.locator(f".change__sources a[href*='{message.session_id}']").first.click()
    expect(page.locator(".source")).to_be_visible()
    inspect(page, "source")
    page.on("dialog", lambda dialog: dialog.accept())
    undo = page.locator("[hx-vals*=undo]")
    undo.focus()
    page.keyboard.press("Enter")
    expect(undo).to_have_count(0)
    assert show(mei) == CLEAN
    inspect(page, "undone")
    page.locator("[data-way-back]").last.click()
    expect(undo).to_have_count(1)
    assert show(mei) == POISONED
    page.locator("[hx-vals*=aside]").click()
    expect(page.locator("[hx-vals*=aside]")).to_have_count(0)
    assert LongTermMemory.objects.filter(user=mei, status="pending").count() == 2
