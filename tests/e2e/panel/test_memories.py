"""The lists of memories in a real Chromium."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from apps.accounts.models import User
from apps.memory.atomic.services import create_atomic_memory
from apps.memory.services import create_memory

LIST = "/admin/memory/longtermmemory/"
ATOMIC = "/admin/memory/atomicmemory/"
HARM = "<script>window.harmed = 1</script> {{ 7*7 }} ]]> \u202ereversed"


def remember(user: User, key: str, value: Any, category: str = "fact", **fields: Any) -> Any:
    return create_memory(user=user, category=category, key=key, value=value, now=timezone.now(), **fields)[0]


def fill(user: User) -> None:
    remember(user, "喜欢的颜色", "蓝色", "preference", confidence=0.95)
    remember(user, "城市", "上海", confidence=0.9)
    remember(user, "allergies", ["peanuts", "芒果"], confidence=0.8, source="inferred")
    remember(user, "work", {"title": "nurse", "since": 2019}, confidence=0.4)
    remember(user, "sleep", "Goes to bed around eleven, gets up at six even on weekends. " * 12, "pattern")
    remember(user, HARM, HARM)


@pytest.mark.spec("M1")
@pytest.mark.parametrize(
    ("name", "look"),
    [
        ("zh", {"language": "zh-CN"}),
        ("en", {"language": "en-US"}),
        ("dark", {"language": "en-US", "dark": True}),
        ("phone", {"language": "zh-CN", "size": (390, 844)}),
    ],
)
def test_the_list_as_cards_and_as_table(
    open_panel: Callable[..., Page], inspect: Callable[..., None], mei: User, name: str, look: dict[str, Any]
) -> None:
    fill(mei)
    page = open_panel(mei, LIST, **look)
    expect(page.locator("tbody .memory")).to_have_count(6)
    assert page.evaluate("window.harmed") is None
    inspect(page, f"cards-{name}")
    page.locator('[data-look-button="table"]').click()
    inspect(page, f"table-{name}")
