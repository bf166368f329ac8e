"""The rest of what is remembered, in a real Chromium: profile, working memory, shared contexts, embeddings."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from apps.accounts.models import User
from apps.conversations.models import Message, Session
from apps.conversations.sessions import create_session
from apps.memory.contexts import append_entry, create_context
from apps.memory.models import ContextEntry, SharedContext, WorkingMemory
from apps.memory.vectors.messages import prepare_embeddings, store_embeddings
from apps.memory.working import record_form, update_working_memory
from apps.profile.document import ProposedSection
from apps.profile.models import UserProfile
from apps.profile.services import propose_sections, update_profile

pytestmark = pytest.mark.spec("M5")

HARM = "<script>document.title='pwned'</script>{{ 7*7 }}]]>\u202egnirts\u202c"


@pytest.fixture
def session(mei: User) -> Session:
    """A conversation of a few messages, with what it keeps in mind."""
    now = timezone.now()
    session = create_session(user=mei, title="去大理的旅行", temporary=False)
    said = ["我下周要去大理度假，住洱海边", "公司的报销流程很麻烦", "我家的猫叫豆豆", "My cat sleeps all day"]
    rows = [
        Message(session=session, user=mei, role="user", content=text, position=number)
        for number, text in enumerate(said, start=1)
    ]
    store_embeddings(prepare_embeddings(Message.objects.bulk_create(rows)))
    fields = {"出发日期": "2026-12-01", "同行": ["小林", "妈妈"], "靠窗": True, "预算": 5000, "备注": ""}
    record_form(user=mei, session_id=session.id, title="旅行偏好", fields=fields, now=now)
    variables = {
        "目的地": "大理",
        "days": 3,
        "人数": {"大人": 2, "孩子": {"男": 1, "女": None}},
        "wishes": ["洱海", "古城"],
        HARM: HARM,
    }
    changes = {"current_topic": "去大理旅行的安排", "context_variables": variables}
    update_working_memory(user=mei, session_id=session.id, changes=changes, now=now)
    WorkingMemory.objects.update(turn_count=6, last_emotion="happy")
    return session


@pytest.fixture
def profile(mei: User) -> UserProfile:
    """A document of some versions, with a proposal for a section that was edited by hand."""
    now = timezone.now() - timedelta(days=3)
    said = ProposedSection("reply_style", "喜欢先说结论\n不要用太多专业词汇", None, now - timedelta(days=2))
    propose_sections(user=mei, proposals=[said], now=now)
    texts = {"background": "律师，在上海工作\n有一只叫豆豆的猫", "sections": {"宠物": "豆豆，三岁", HARM: HARM}}
    update_profile(user=mei, changes=texts, now=now)
    update_profile(user=mei, changes={"background": "律师，在杭州工作\n有一只叫豆豆的猫"}, now=now + timedelta(days=1))
    proposal = ProposedSection("background", "在苏州工作", None, timezone.now())
    propose_sections(user=mei, proposals=[proposal], now=timezone.now())
    return UserProfile.objects.get(user=mei)


@pytest.fixture
def context(mei: User, session: Session) -> SharedContext:
    """A case that is added to."""
    now = timezone.now() - timedelta(hours=5)
    content = "甲方与乙方于三月签订租赁合同，押金两万元。乙方六月退租，甲方拒绝退还押金。" * 6
    context = create_context(user=mei, title="租赁押金纠纷", content=content, session_id=session.id, now=now)
    for number, (author, text) in enumerate([("立案助手", "法院已受理，案号待定"), ("", HARM)], start=1):
        at = now + timedelta(hours=number)
        append_entry(user=mei, context_id=context.id, text=text, author=author, now=at)
    return context


def test_the_profile_is_read_edited_and_decided(
    open_panel: Callable[..., Page], inspect: Callable[..., None], mei: User, profile: UserProfile
) -> None:
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
    profile.refresh_from_db()
    assert profile.sections["宠物"] == "豆豆，三岁"
    assert "苏州" in profile.background
    assert page.title().startswith("画像")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name=re.compile("^恢复.*2$")).click()
    expect(page.locator(".profile-section__text", has_text="在上海工作")).to_be_visible()


def test_working_memory_is_a_tree_and_forms(
    open_panel: Callable[..., Page], inspect: Callable[..., None], staff: User, mei: User, session: Session
) -> None:
    page = open_panel(mei, "/admin/memory/workingmemory/")
    inspect(page, "cards")
    page.get_by_role("link", name="去大理旅行的安排").click()
    expect(page.get_by_role("heading", name="旅行偏好")).to_be_visible()
    inspect(page, "page")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="移除 days").click()
    expect(page.get_by_role("button", name="移除 days")).to_have_count(0)
    assert "days" not in WorkingMemory.objects.get().context_variables
    assert not page.title().startswith("pwned")
    page = open_panel(staff, f"/admin/memory/workingmemory/{session.id}/change/", language="en-US", dark=True)
    inspect(page, "dark")


def test_shared_contexts_are_read_and_added_to(
    open_panel: Callable[..., Page], inspect: Callable[..., None], staff: User, mei: User, context: SharedContext
) -> None:
    page = open_panel(mei, "/admin/memory/sharedcontext/")
    inspect(page, "cards")
    page.get_by_role("link", name="租赁押金纠纷").click()
    page.get_by_role("textbox", name="添加条目").fill("已调解")
    page.get_by_role("button", name="添加", exact=True).click()
    expect(page.locator(".timeline__item")).to_have_count(3)
    inspect(page, "page")
    assert ContextEntry.objects.filter(context=context, author="mei", text="已调解").exists()
    page = open_panel(
        staff, f"/admin/memory/sharedcontext/{context.id}/change/", language="en-US", dark=True, size=(390, 844)
    )
    inspect(page, "phone")
