"""What is recalled and why, in a browser: a turn looked into, and another message tried (M6)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.accounts.selectors import get_settings
from apps.memory.deletion import delete_memories
from apps.memory.entries import create_memory
from apps.memory.kinds import LONG_TERM
from apps.memory.lifecycle import create_atomic_memory, update_memory
from apps.memory.models import LongTermMemory
from tests.e2e.panel.conftest import Inspect, OpenPanel
from tests.support.answers import answer
from tests.support.everything import Everything
from tests.support.http_server import ApiClient
from tests.support.scripted_model import ScriptedModel

HOSTILE = "<script>document.title='x'</script>{{ 7 }}]]>\u202e"


@pytest.mark.spec("M6", "M7")
def test_a_turn_is_looked_into(open_panel: OpenPanel, inspect: Inspect, alice: ApiClient, model: ScriptedModel) -> None:
    everything = Everything(alice, model)
    emotion = {"primary": "happy", "confidence": 0.8, "indicators": ["好"]}
    model.script(answer(HOSTILE + "长" * 400, emotion=emotion, variables={"预算": 3000}))
    alice.say(str(everything.session), "颜色？" + HOSTILE).raise_for_status()
    update_memory(
        LONG_TERM, user=alice.user, memory_id=everything.memory.id, changes={"value": "红色"}, now=timezone.now()
    )
    delete_memories(LONG_TERM, user=alice.user, ids=[], now=timezone.now())
    page = open_panel(alice.user, f"/admin/chat/turn/{everything.reply}/change/", size=(390, 844))
    expect(page.locator(".piece__edited")).to_have_count(1)
    page.locator(".piece__edited summary").click()
    expect(page.locator(".piece__edited .difference ins")).to_contain_text("红色")
    page.locator(".used summary").first.click()
    inspect(page, "turn")
    page.keyboard.press("j")
    expect(page.locator(".bubble--user")).to_contain_text("document.title='x'")
    expect(page.locator(".bubble--assistant")).to_contain_text("{{ 7 }}]]>")
    expect(page).not_to_have_title("x")
    page.keyboard.press("k")
    expect(page).to_have_url(re.compile(everything.reply))


@pytest.fixture
def memories(mei: User) -> None:
    now = datetime.now(UTC)
    for days, (category, key, value, confidence) in enumerate(
        [
            ("preference", "喜欢的颜色", "蓝色", 1.0),
            ("preference", "喜欢的菜", ["麻婆豆腐", "鱼香肉丝"], 0.9),
            ("fact", "汽车颜色", "红色", 0.95),
            ("pattern", "周末常去的地方", "颜色鲜艳的美术馆", 0.6),
            ("fact", "喜欢的运动员 " + HOSTILE, "长" * 400, 0.8),
            ("fact", "住址", "北京", 1.0),
        ]
    ):
        create_memory(
            user=mei, category=category, key=key, value=value, confidence=confidence, now=now - timedelta(days=4 * days)
        )
    create_atomic_memory(user=mei, content="用户上周六买了一辆蓝色的自行车，喜欢这个颜色。", tags=["自行车"], now=now)
    create_atomic_memory(user=mei, content="用户养了一只猫。", now=now - timedelta(days=9))


@pytest.mark.usefixtures("memories")
@pytest.mark.spec("M6")
def test_trying_and_comparing(open_panel: OpenPanel, inspect: Inspect, mei: User) -> None:
    page = open_panel(mei, "/admin/playground/")
    expect(page.locator(".empty-state")).to_be_visible()
    page.locator("#play-message").fill("上周六我喜欢什么颜色？")
    page.keyboard.press("Enter")
    first = page.locator(".play-row").first
    expect(first).to_contain_text("喜欢的颜色: 蓝色")
    expect(page.locator(".play-reading")).to_contain_text("上周六")
    first.locator("summary").press("Enter")
    expect(first.locator("table")).to_contain_text("关键词匹配")
    inspect(page, "zh")
    assert "颜色" not in page.url
    page.locator("#play-weight_confidence").fill("1")
    page.locator("#play-weight_keyword").fill("0")
    expect(page.get_by_role("heading", name="调整后的设置").first).to_be_visible()
    expect(page.locator(".play-moved").first).to_be_visible()
    inspect(page, "compared")
    assert get_settings(mei).score_weights.confidence == 0.15
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="保存为我的设置").click()
    expect(page.locator("#toasts .toast")).to_contain_text("已保存")
    assert (get_settings(mei).score_weights.confidence, get_settings(mei).score_weights.keyword) == (1.0, 0.0)
    assert set(LongTermMemory.objects.values_list("access_count", flat=True)) == {0}
