"""What waits for decisions, in a browser: the queue by keyboard, and the profile beside its proposals."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.memory.entries import create_memory
from apps.memory.judge.known import list_known_memories
from apps.memory.judge.types import Relation, Verdict
from apps.memory.lifecycle import create_atomic_memory
from apps.memory.models import AtomicMemory, LongTermMemory
from apps.profile.document import ProposedSection
from apps.profile.models import UserProfile
from apps.profile.services import propose_sections, update_profile
from tests.e2e.panel.conftest import Inspect, OpenPanel
from tests.panel.waiting import NOW, wait_atomic, wait_long_term, wait_profile


@pytest.fixture
def waiting(mei: User) -> dict[str, LongTermMemory | AtomicMemory]:
    """Four things that wait, the newest named first."""
    create_memory(user=mei, category="preference", key="最喜欢的饮料", value="咖啡", now=NOW)
    create_atomic_memory(user=mei, content="用户住在北京。", timestamp=NOW - timedelta(days=90), now=NOW)
    wait_profile(mei, "reply_style", "回答要简短。", by_hand="回答要详细。\n不要用表情符号。")
    hostile = wait_long_term(
        mei, "note", "<script>alert(1)</script> {{ 7 }} ]]> \u202e rtl " + "长" * 600,
        said="well <script>alert(1)</script>", at=NOW + timedelta(minutes=2),
    )  # fmt: skip
    known = list_known_memories(mei, said=[], message_ids=[], budget=1_000)
    (home,) = (memory.number for memory in known if memory.text == "用户住在北京。")
    city = wait_atomic(
        mei,
        "用户搬到了上海，在浦东上班。",
        said="今天很忙。我可能下个月搬到上海，在浦东上班。你呢？",
        at=NOW + timedelta(minutes=3),
        verdict=Verdict(Relation.CONTRADICTS, (home,), 0.5),
        known=known,
    )
    drink = wait_long_term(
        mei, "最喜欢的饮料", "绿茶", said="我现在好像更喜欢绿茶了，咖啡喝多了睡不着。", at=NOW + timedelta(minutes=4)
    )
    return {"drink": drink, "city": city, "hostile": hostile}


@pytest.mark.journey
@pytest.mark.spec("M6")
def test_deciding_by_keyboard(
    open_panel: OpenPanel, inspect: Inspect, mei: User, waiting: dict[str, LongTermMemory]
) -> None:
    page = open_panel(mei, "/admin/review/")
    card = page.locator("[data-item][aria-current]")
    expect(card).to_contain_text("绿茶")
    expect(page.locator(".review-progress")).to_contain_text("还剩 4 条")
    page.keyboard.press("j")
    expect(card).to_contain_text("用户搬到了上海")
    expect(card.locator(".review-side").first).to_contain_text("用户住在北京。")
    expect(card).to_be_focused()
    inspect(page, "zh")
    page.keyboard.press("r")
    expect(page.locator("#toasts .toast")).to_contain_text("不会再次提议")
    expect(page.locator(".review-progress")).to_contain_text("还剩 3 条")
    expect(card).to_contain_text("note")
    page.keyboard.press("u")
    expect(page.locator(".review-progress")).to_contain_text("还剩 4 条")
    page.keyboard.press("k")
    expect(card).to_contain_text("绿茶")
    page.keyboard.press("e")
    value = card.locator("textarea[name=value]")
    expect(card.locator("input[name=key]")).to_be_focused()
    value.fill("[1,")
    value.press("Control+Enter")
    expect(card.locator(".editor__error")).to_contain_text("JSON")
    inspect(page, "editor")
    value.fill("龙井，少放茶叶")
    value.press("Control+Enter")
    expect(page.locator("#toasts .toast")).to_contain_text("已接受")
    drink = LongTermMemory.objects.get(id=waiting["drink"].id)
    assert (drink.status, drink.value) == ("active", "龙井，少放茶叶")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")


@pytest.mark.spec("M5")
def test_the_profile_is_read_edited_and_decided(open_panel: OpenPanel, inspect: Inspect, mei: User) -> None:
    now = timezone.now()
    texts = {"background": "律师，在上海工作", "sections": {"宠物": "豆豆，三岁"}}
    for days, changes in ((3, texts), (2, {"background": "律师，在杭州工作"})):
        update_profile(user=mei, changes=changes, now=now - timedelta(days=days))
    propose_sections(user=mei, proposals=[ProposedSection("background", "在苏州工作", None, now)], now=now)
    page = open_panel(mei, "/admin/profile/")
    inspect(page, "document")
    page.get_by_role("link", name=re.compile("^编辑.*宠物")).click()
    page.get_by_role("textbox", name="宠物").fill("豆豆，四岁\n喜欢晒太阳")
    inspect(page, "editor")
    page.get_by_role("button", name="保存").click()
    expect(page.locator(".profile-section__text", has_text="喜欢晒太阳")).to_be_visible()
    page.get_by_role("button", name="撤销").click()
    expect(page.locator(".profile-section__text", has_text="豆豆，三岁")).to_be_visible()
    page.get_by_role("button", name="接受", exact=True).click()
    expect(page.get_by_role("group", name="提议")).to_have_count(0)
    profile = UserProfile.objects.get(user=mei)
    assert profile.sections["宠物"] == "豆豆，三岁"
    assert "苏州" in profile.background
    assert page.title().startswith("画像")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name=re.compile("^恢复.*1$")).click()
    expect(page.locator(".profile-section__text", has_text="在上海工作")).to_be_visible()
