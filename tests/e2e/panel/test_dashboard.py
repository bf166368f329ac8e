"""The overview in a browser: pictures with their numbers, for a newcomer and for somebody with a past."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from apps.accounts.models import User
from apps.chat.models import Turn
from apps.conversations.models import Message, Session, Work
from apps.memory.entries import create_memory
from apps.memory.lifecycle import create_atomic_memory
from apps.memory.models import Change, LongTermMemory
from apps.profile.models import ProfileProposal
from tests.panel.test_overview import make_turns
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


def live(user: User) -> None:
    """What the overview has words for: something new, changed, waiting, failed and used."""
    now = timezone.now() - timedelta(hours=2)
    session = Session.objects.create(user=user, title="搬家")
    said = Message.objects.create(session=session, user=user, role="user", content="我从柏林搬到汉堡了。", position=1)
    for hours, city in enumerate(("柏林", "汉堡")):
        create_memory(user=user, category="fact", key="city", value=city, now=now + timedelta(hours=hours))
    Change.objects.filter(user=user, action="supersede").update(message=said)
    create_atomic_memory(user=user, content="The user adopted a cat called Mochi.", now=now)
    LongTermMemory.objects.filter(pk=LongTermMemoryFactory.create(user=user, key="tea").pk).update(status="pending")
    ProfileProposal.objects.create(user=user, section="reply_style", text="Short answers, please.")
    error = "model_unavailable: unreachable"
    Work.objects.create(user=user, session=session, message=said, kind="extract", state="failed", error=error)
    make_turns(user, number=1, memories=list(LongTermMemory.objects.filter(user=user, status="active")))
    Turn.objects.filter(user=user).update(user_message=said)


WORDS = {
    "zh-CN": ("新增了什么", "由 柏林 改为 汉堡", "根据这条消息", "1 条记忆待审核"),
    "en-US": ("What is new", "汉堡 instead of 柏林", "from this message", "1 memory to review"),
}


@pytest.mark.parametrize("look", ["zh", "en", "dark", "phone", "night"], indirect=True)
def test_the_overview_answers_in_words(
    open_panel: Callable[..., Page], inspect: Callable[..., None], mei: User, look: dict[str, Any]
) -> None:
    live(mei)
    page = open_panel(mei, **look)
    new, changed, cause, review = WORDS[look["language"]]
    expect(page.get_by_role("heading", name=new)).to_be_visible()
    expect(page.get_by_text("Mochi").first).to_be_visible()
    expect(page.locator(".answer__text").filter(has_text=changed)).to_have_count(1)
    expect(page.get_by_text(review)).to_be_visible()
    inspect(page, "answers")
    page.get_by_role("link", name=cause).click()
    expect(page.locator("li.said--user")).to_contain_text("我从柏林搬到汉堡了。")


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
    inspect(everybody, "staff")
