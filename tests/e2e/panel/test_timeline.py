"""Memories over time, before people: lines, their lanes, what was known on a date, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from apps.accounts.models import User
from apps.memory.entries import create_memory
from apps.memory.lifecycle import create_atomic_memory, supersede_atomic_memory
from apps.memory.models import LongTermMemory
from apps.profile.services import update_profile

pytestmark = pytest.mark.spec("L3", "L7")


def live(user: User) -> None:
    """Give somebody a past: two moves, a changed mind, and things that stayed as they were."""
    now = timezone.now()

    def ago(days: int) -> Any:
        return now - timedelta(days=days)

    for city, days in (("Berlin", 800), ("汉堡", 200), ("Munich", 20)):
        create_memory(user=user, category="fact", key="居住城市 home", value=city, now=ago(days))
    create_memory(user=user, category="fact", key="allergies", value=["peanuts", "虾"], now=ago(95))
    drink, _created = create_atomic_memory(user=user, content="Ann 喜欢喝茶。", now=ago(60))
    supersede_atomic_memory(user=user, memory_id=drink.id, content="Ann prefers coffee these days.", now=ago(6))
    create_atomic_memory(user=user, content="The dentist appointment was moved to a Friday. " * 4, now=ago(1))
    update_profile(user=user, changes={"background": "A baker from Berlin.\n两个孩子。"}, now=ago(300))


def test_lines_are_looked_at_and_undone(
    open_panel: Callable[..., Page], inspect: Callable[..., None], mei: User, look: dict[str, Any]
) -> None:
    live(mei)
    page = open_panel(mei, "/admin/timeline/", **look)
    expect(page.locator(".line")).to_have_count(4)
    home = page.locator(".line", has_text="Munich")
    expect(home.locator(".step__text")).to_have_text(["Berlin", "汉堡", "Munich"])
    lane = home.locator(".lane")
    if look.get("size"):
        expect(lane).to_be_hidden()
    else:
        parts = [part.bounding_box() for part in lane.locator(".lane__part").all()]
        assert all(part is not None for part in parts)
        starts = [part["x"] for part in parts if part]
        assert starts == sorted(starts)
        whole = lane.bounding_box()
        assert whole is not None
        assert max(part["x"] + part["width"] for part in parts if part) <= whole["x"] + whole["width"] + 1
    inspect(page)
    page.on("dialog", lambda dialog: dialog.accept())
    home.locator(".line__undo").click()
    expect(page.locator(".line", has_text="Berlin").locator(".step__text")).to_have_text(["Berlin", "汉堡"])
    assert LongTermMemory.objects.get(status="active", key="居住城市 home").value == "汉堡"


@pytest.mark.parametrize("look", ["en", "night", "zh"], indirect=True)
def test_what_was_known_on_a_date(
    open_panel: Callable[..., Page], inspect: Callable[..., None], mei: User, look: dict[str, Any]
) -> None:
    live(mei)
    page = open_panel(mei, "/admin/memory/change/", **look)
    page.locator(".place-tabs a").last.click()
    page.locator("input[name=as_of]").fill(str((timezone.now() - timedelta(days=150)).date()))
    page.locator("input[name=as_of]").press("Enter")
    expect(page.locator(".known__memory .step__text")).to_have_text(["汉堡"])
    expect(page.locator(".known__now")).to_be_visible()
    expect(page.locator(".known__profile")).to_contain_text("两个孩子。")
    inspect(page)
    page.locator(".timeline__then a").click()
    expect(page.locator(".line")).to_have_count(4)
