"""The overview in a browser: pictures with their numbers, for a newcomer and for somebody with a past."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from apps.accounts.models import User
from tests.panel.dashboard.test_overview import make_turns
from tests.support.factories import LongTermMemoryFactory

pytestmark = pytest.mark.spec("M5", "M6", "M7")


def fill(user: User) -> None:
    """Three weeks of somebody's life."""
    memories = [
        LongTermMemoryFactory.create(user=user, category=category, key=f"{category} {number}")
        for category in ("preference", "fact", "pattern")
        for number in range(4)
    ]
    emotions = ["happy", "curious", "anxious", "neutral", "sad", "help_seeking"]
    for ago in range(1, 22, 2):
        emotion = {"primary": emotions[ago // 2 % len(emotions)]}
        make_turns(user, number=1 + ago % 4, memories=memories[ago % 5 : ago % 5 + 3], days_ago=ago, emotion=emotion)


def test_a_newcomer(open_panel: Callable[..., Page], inspect: Callable[..., None], mei: User) -> None:
    page = open_panel(mei)
    expect(page.get_by_role("heading", name="还没有记忆")).to_be_visible()
    inspect(page)


def test_somebody_with_a_past(
    open_panel: Callable[..., Page], inspect: Callable[..., None], mei: User, staff: User
) -> None:
    fill(mei)
    page = open_panel(mei, language="en-US", dark=True)
    emotions = page.get_by_role("img", name="Emotions")
    told = "Emotions: Curious 8, Neutral 8, Anxious 4, Happy 4, Seeking help 4, Sad 4"
    expect(emotions).to_have_attribute("aria-label", told)
    page.get_by_text("Show as table").first.click()
    inspect(page, "dark")
    page.get_by_role("link", name="90 days", exact=True).click()
    expect(page.get_by_role("link", name="90 days", exact=True)).to_have_attribute("aria-current", "true")
    phone = open_panel(mei, language="zh-CN", size=(390, 844))
    inspect(phone, "phone")
    everybody = open_panel(staff, language="zh-CN")
    expect(everybody.get_by_role("heading", name="存储空间")).to_be_visible()
    inspect(everybody, "staff")
