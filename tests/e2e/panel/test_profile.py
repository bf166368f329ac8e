"""The profile in a real Chromium: read, edited in place, decided about, restored."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.profile.document import ProposedSection
from apps.profile.models import UserProfile
from apps.profile.services import propose_sections, update_profile
from tests.e2e.panel.conftest import Inspect, OpenPanel

pytestmark = pytest.mark.spec("M5")


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
