"""The audit record as people see it: what changed, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from apps.accounts.models import User
from apps.memory.deletion import delete_memories
from apps.memory.entries import create_memory
from apps.memory.kinds import LONG_TERM
from apps.memory.lifecycle import update_memory
from apps.memory.models import LongTermMemory

pytestmark = pytest.mark.spec("L7")

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)


@pytest.mark.parametrize("look", ["zh", "dark"], indirect=True)
def test_a_change_is_read_and_undone(
    open_panel: Callable[..., Page], inspect: Callable[..., None], mei: User, look: dict[str, Any]
) -> None:
    memory, _action = create_memory(user=mei, category="fact", key="居住城市", value="我住在北京海淀。", now=NOW)
    update_memory(LONG_TERM, user=mei, memory_id=memory.id, changes={"value": "我住在北京朝阳。"}, now=NOW)
    create_memory(user=mei, category="fact", key="居住城市", value="我搬到上海了。", now=NOW)
    gone, _action = create_memory(user=mei, category="preference", key="drink", value="green tea", now=NOW)
    delete_memories(LONG_TERM, user=mei, ids=[gone.id], now=NOW)

    page = open_panel(mei, "/admin/memory/change/", **look)
    changes = page.locator(".change")
    expect(changes).to_have_count(5)
    expect(changes.nth(3).locator("del")).to_have_text("海淀")
    inspect(page)

    page.on("dialog", lambda dialog: dialog.accept())
    changes.nth(2).locator(".change__undo").click()
    expect(changes).to_have_count(6)
    assert LongTermMemory.objects.get(user=mei, status="active").value == "我住在北京朝阳。"
