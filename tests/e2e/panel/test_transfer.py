"""Import and export in a real browser: what would happen is seen before it does, and it can be undone."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from apps.accounts.models import User
from apps.memory.entries import create_memory
from apps.memory.models import LongTermMemory

pytestmark = pytest.mark.spec("M4", "M7")

HOSTILE = "<script>document.title = 'taken'</script> {{ 7|add:7 }} ]]> \u202eabc"


def choose(page: Page, rows: list[dict[str, Any]]) -> None:
    file = {"name": "memories.json", "mimeType": "application/json", "buffer": json.dumps(rows).encode()}
    page.locator('input[type="file"]').set_input_files(file)  # type: ignore[arg-type]


def row(**fields: Any) -> dict[str, Any]:
    return {"category": "fact", "key": "城市", "value": "北京", **fields}


def test_a_file_is_looked_at_imported_and_undone(
    open_panel: Callable[..., Page], inspect: Callable[..., None], mei: User
) -> None:
    memory, _action = create_memory(user=mei, category="fact", key="城市", value="住在上海", now=timezone.now())
    page = open_panel(mei, "/admin/transfer/", language="zh-CN")
    inspect(page, "page")
    choose(page, [row(id=str(memory.id), value="住在北京"), row(key="新"), row(key="x", value="长" * 5_000 + HOSTILE)])
    page.get_by_role("button", name="预览").click()
    expect(page.locator(".plan__row")).to_have_count(3)
    expect(page.locator(".plan ins").first).to_have_text("北京")
    assert LongTermMemory.objects.count() == 1
    inspect(page, "preview")
    page.get_by_role("button", name="导入到 mei 的记忆中").click()
    expect(page.locator(".transfer__done")).to_contain_text("新增 2 条，更改 1 条")
    inspect(page, "done")
    page.locator(".toast").get_by_role("button", name="撤销").click()
    expect(page.locator(".transfer__done")).to_have_count(0)
    memory.refresh_from_db()
    assert memory.value == "住在上海"
