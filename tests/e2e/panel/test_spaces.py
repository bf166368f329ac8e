"""Spaces in a real Chromium: made, filled, looked at in both languages, and deleted with a receipt (P1, P4)."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.accounts.models import Space, User
from apps.accounts.spaces import create_space
from apps.conversations.sessions import create_session
from apps.memory.entries import create_memory
from apps.memory.models import LongTermMemory
from tests.e2e.panel.conftest import Inspect, OpenPanel

pytestmark = [pytest.mark.long, pytest.mark.spec("P4")]

SPACES = "/admin/accounts/space/"
MADE = {"en-US": ("Create a space", "Save"), "zh-CN": ("新建空间", "保存")}


@pytest.mark.parametrize("look", ["zh", "dark", "phone", "night"], indirect=True)
def test_a_space_is_made_filled_and_deleted(
    open_panel: OpenPanel, inspect: Inspect, mei: User, look: dict[str, Any]
) -> None:
    create, save = MADE[look["language"]]
    hero, _action = create_memory(user=mei, category="fact", key="hero", value="Ada", now=timezone.now())
    page = open_panel(mei, SPACES, **look)
    inspect(page, "empty")
    page.locator(".empty-state").get_by_role("link", name=create).click()
    page.locator("#id_name").fill("Novel 小说")
    inspect(page, "form")
    page.get_by_role("button", name=save, exact=True).click()
    expect(page.locator(".remembered-card .chip--space")).to_have_text("Novel 小说")
    space = Space.objects.get(user=mei)

    page.goto("/admin/memories/")
    page.locator(f"#memory-{hero.pk} input[name=selected]").check()
    page.locator("#memory-bulk select[name=space]").select_option(str(space.pk))
    page.locator("#memory-bulk button[value=move]").click()
    chip = page.locator(f"#memory-{hero.pk} .chip--space")
    expect(chip).to_have_text("Novel 小说")
    inspect(page, "moved")
    page.get_by_role("status").get_by_role("button").first.click()
    expect(chip).to_have_count(0)
    page.goto(f"/admin/memory/longtermmemory/{hero.pk}/change/")
    page.locator("details:has(#move-space) > summary").click()
    inspect(page, "move")
    page.locator("form:has(#move-space) button").click()
    expect(page.locator(".detail__chips .chip--space")).to_have_text("Novel 小说")
    page.goto(f"/admin/memories/?space={space.pk}")
    expect(page.locator("tbody .memory")).to_have_count(1)
    expect(page.locator(".chip--space[aria-current]")).to_have_text("Novel 小说")
    inspect(page, "filtered")

    create_session(user=mei.within(space.pk), title="Chapter one")
    garden = create_space(user=mei, name="Garden")
    page.goto(f"{SPACES}{garden.pk}/delete/")
    page.locator("button[value=move]").click()
    expect(page.locator("#receipt")).to_contain_text("Garden")
    page.goto(f"{SPACES}{space.pk}/delete/")
    inspect(page, "delete")
    erase = page.locator("button[value=erase]")
    expect(erase).to_be_disabled()
    page.locator("#confirm").fill("Novel 小说")
    erase.click()
    expect(page.locator("#receipt")).to_contain_text("Novel 小说")
    inspect(page, "receipt")
    assert not LongTermMemory.objects.filter(user=mei).exists()
    assert not Space.objects.filter(user=mei).exists()
