"""Erasing everything in a browser: the name has to be typed, and there is a receipt to keep."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.memory.models import LongTermMemory
from tests.e2e.panel.conftest import Inspect, OpenPanel
from tests.support.factories import LongTermMemoryFactory

pytestmark = pytest.mark.spec("R3", "M7")


@pytest.mark.journey
def test_somebody_erases_everything_of_theirs(open_panel: OpenPanel, inspect: Inspect, mei: User, staff: User) -> None:
    LongTermMemoryFactory.create_batch(3, user=mei)
    LongTermMemoryFactory.create(user=staff)
    page = open_panel(mei, "/admin/erasure/")
    inspect(page, "before")
    with page.expect_download() as exported:
        page.get_by_role("link", name="先导出").click()
    assert len(json.loads(exported.value.path().read_text())["data"]["long_term_memory"]) == 3
    button = page.get_by_role("button", name="清除全部数据")
    expect(button).to_be_disabled()
    page.get_by_label("请输入用户名").fill("mei")
    button.click()
    expect(page.get_by_role("heading", name="数据已全部清除")).to_be_visible()
    with page.expect_download() as receipt:
        page.get_by_role("link", name="下载回执").click()
    said = json.loads(receipt.value.path().read_text())
    assert (said["user"], said["verified"], said["deleted"]["long_term_memory"]) == (mei.pk, True, 3)
    assert LongTermMemory.objects.get().user == staff
    inspect(page, "receipt")
