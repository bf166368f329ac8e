"""The page of one memory in a real browser: its looks, its keys, and what is done from there."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.memory.entries import create_memory
from apps.memory.lifecycle import create_atomic_memory
from tests.e2e.panel.conftest import Inspect, OpenPanel
from tests.panel.waiting import wait_long_term
from tests.support.factories import LongTermMemoryFactory

pytestmark = pytest.mark.spec("M2", "L7", "M7")


def path(memory: Any) -> str:
    return f"/admin/memory/{memory._meta.model_name}/{memory.pk}/change/"


def test_by_keyboard(open_panel: OpenPanel, inspect: Inspect, mei: User) -> None:
    LongTermMemoryFactory.create(user=mei, key="居住地", value="上海")
    memory = LongTermMemoryFactory.create(user=mei, key="居住地", value="北京市朝阳区")
    page = open_panel(mei, path(memory), language="en-US")
    page.keyboard.press("e")
    value = page.locator("#id_value")
    value.fill("[1,")
    expect(page.locator("[data-shape]")).to_have_text("not valid JSON yet")
    value.fill('["北京", "天津"]')
    expect(page.locator("[data-shape]")).to_have_text("list")
    inspect(page, "editor")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".toast")).to_contain_text("Saved.")
    expect(page.locator(".item")).to_have_count(2)
    expect(page.locator(".items")).to_contain_text("天津")
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.locator(".detail__value")).to_have_text("北京市朝阳区")
    page.keyboard.press("s")
    page.get_by_label("New value").fill("杭州")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".detail__value")).to_have_text("杭州")
    expect(page.locator(".chain__step")).to_have_count(3)
    inspect(page, "superseded")


def test_merging_deleting_and_deciding(open_panel: OpenPanel, inspect: Inspect, mei: User, staff: User) -> None:
    now = timezone.now()
    kept, _action = create_memory(user=mei, category="fact", key="过敏", value="虾", now=now)
    create_memory(user=mei, category="fact", key="过敏的食物", value="花生", now=now)
    page = open_panel(staff, path(kept), language="zh-CN")
    page.keyboard.press("m")
    page.get_by_label("选择另一条记忆").fill("花生")
    page.keyboard.press("Enter")
    expect(page.locator(".detail__found mark").first).to_be_visible()
    inspect(page, "merge")
    page.locator(".detail__found button").click()
    expect(page.get_by_label("合并后的内容")).to_be_visible()
    inspect(page, "merge-preview")
    page.get_by_role("button", name="合并").click()
    expect(page.locator(".toast")).to_contain_text("记忆已合并")
    expect(page.locator(".items")).to_contain_text("花生")
    atomic, _created = create_atomic_memory(user=mei, content="用户对花生过敏。", tags=["健康"], now=now)
    page.keyboard.press("d")
    expect(page.locator(".copies li")).to_have_count(1)
    inspect(page, "delete")
    page.goto(path(atomic))
    inspect(page, "atomic")
    page.goto(path(wait_long_term(mei, "颜色", "蓝色")))
    inspect(page, "pending")
    page.keyboard.press("r")
    expect(page.locator(".chip--rejected").first).to_be_visible()
    inspect(page, "rejected")
