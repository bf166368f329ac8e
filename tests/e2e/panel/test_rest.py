"""The rest of what is remembered, in a real Chromium: profile, working memory, shared contexts, embeddings."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from apps.accounts.models import User
from apps.profile.models import UserProfile
from apps.profile.services import propose_sections, update_profile
from apps.profile.types import ProposedSection

pytestmark = pytest.mark.spec("M5")


@pytest.fixture
def profile(mei: User) -> UserProfile:
    """A document of some versions, with a proposal for a section that was edited by hand."""
    now = timezone.now() - timedelta(days=3)
    said = ProposedSection("reply_style", "喜欢先说结论\n不要用太多专业词汇", None, now - timedelta(days=2))
    propose_sections(user=mei, proposals=[said], now=now)
    texts = {"background": "律师，在上海工作\n有一只叫豆豆的猫", "sections": {"宠物": "豆豆，三岁"}}
    update_profile(user=mei, changes=texts, now=now)
    update_profile(user=mei, changes={"background": "律师，在杭州工作\n有一只叫豆豆的猫"}, now=now + timedelta(days=1))
    proposal = ProposedSection("background", "在苏州工作", None, timezone.now())
    propose_sections(user=mei, proposals=[proposal], now=timezone.now())
    return UserProfile.objects.get(user=mei)


def test_the_profile_is_read_edited_and_decided(
    open_panel: Callable[..., Page], inspect: Callable[..., None], mei: User, profile: UserProfile
) -> None:
    page = open_panel(mei, "/admin/profile/")
    inspect(page, "document")
    page.get_by_role("link", name="编辑: 宠物").click()
    page.get_by_role("textbox", name="宠物").fill("豆豆，四岁\n喜欢晒太阳")
    inspect(page, "editor")
    page.get_by_role("button", name="保存").click()
    expect(page.get_by_text("喜欢晒太阳").first).to_be_visible()
    page.get_by_role("button", name="接受", exact=True).click()
    expect(page.get_by_role("group", name="提议")).to_have_count(0)
    profile.refresh_from_db()
    assert profile.sections == {"宠物": "豆豆，四岁\n喜欢晒太阳"}
    assert "苏州" in profile.background
    inspect(page, "after")
