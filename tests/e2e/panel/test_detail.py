"""The page of one memory in a real browser: its looks, its keys, and what is done from there."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from apps.accounts.models import User
from apps.chat.models import Turn
from apps.conversations.models import Message, Session
from apps.memory.entries import create_memory, record_entries
from apps.memory.keyed import ProposedEntry
from apps.memory.kinds import LONG_TERM
from apps.memory.lifecycle import create_atomic_memory, update_memory
from apps.memory.models import LongTermMemory

pytestmark = pytest.mark.spec("M2", "L7", "M7")

HOSTILE = "<script>document.title = 'taken'</script> {{ 7|add:7 }} ]]> \u202eabc"


def fill(mei: User) -> LongTermMemory:
    """A memory that came from a conversation, was changed, replaced, and used for weeks."""
    now = timezone.now()
    session = Session.objects.create(user=mei, title="搬家的打算")
    said = [
        ("user", "下个月要搬家了，有点忙。"), ("assistant", "听起来很充实！搬去哪里？"),
        ("user", "我从上海搬到北京，住在朝阳区。"), ("assistant", "北京欢迎你，我记下了。"), ("user", "谢谢！"),
        ("assistant", HOSTILE),
    ]  # fmt: skip
    messages = [
        Message.objects.create(session=session, user=mei, role=role, content=text, position=place)
        for place, (role, text) in enumerate(said)
    ]
    create_memory(user=mei, category="fact", key="居住地", value="上海", now=now - timedelta(days=200))
    memory, _action = create_memory(
        user=mei, category="fact", key="居住地", value="北京市海淀区", now=now - timedelta(days=90), confidence=0.8
    )
    update_memory(
        LONG_TERM, user=mei, memory_id=memory.id, changes={"value": "北京市朝阳区"}, now=now - timedelta(days=20)
    )
    used = [{"id": str(memory.id), "kind": "long_term", "score": 0.812, "keyword_score": 0.5, "recency_score": 0.93}]
    for weeks in (0, 0, 1, 1, 1, 3, 6, 7, 7, 11, 12, 20):
        place = session.messages.count()
        asked, reply = (
            Message.objects.create(
                session=session, user=mei, role=role, content=f"周末去哪里玩？ {place}", position=place + offset
            )
            for offset, role in enumerate(("user", "assistant"))
        )
        Turn.objects.create(
            assistant_message=reply, user_message=asked, session=session, user=mei, model="m", memories_used=used,
            created_at=now - timedelta(weeks=weeks),
        )  # fmt: skip
    LongTermMemory.objects.filter(id=memory.id).update(
        message=messages[2], session=session, access_count=12, last_accessed=now
    )
    return memory


def path(memory: Any, part: str = "change") -> str:
    return f"/admin/memory/{memory._meta.model_name}/{memory.pk}/{part}/"


def test_by_keyboard(open_panel: Callable[..., Page], inspect: Callable[..., None], mei: User) -> None:
    memory = fill(mei)
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


def test_merging_deleting_and_deciding(
    open_panel: Callable[..., Page], inspect: Callable[..., None], mei: User, staff: User
) -> None:
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
    (update,) = record_entries(
        user=mei, entries=[ProposedEntry("preference", "颜色", HOSTILE, "inferred", 0.4)], session_id=None,
        message_id=None, said_at=now, message_text="", auto_accept_confidence=0.7, now=now,
    )  # fmt: skip
    page.goto(f"/admin/memory/longtermmemory/{update.id}/change/")
    inspect(page, "pending")
    page.keyboard.press("r")
    expect(page.locator(".chip--rejected").first).to_be_visible()
    inspect(page, "rejected")
