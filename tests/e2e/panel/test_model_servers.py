"""A model is connected in a browser, and answers in the conversation at once."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Route, expect

from apps.accounts.models import User
from tests.e2e.panel.conftest import Inspect, OpenPanel
from tests.support.scripted_model import ScriptedModel

KEY = "sk-very-secret-0123456789"


@pytest.fixture
def root(mei: User) -> User:
    mei.is_staff = mei.is_superuser = True
    mei.save()
    return mei


@pytest.mark.journey
@pytest.mark.parametrize("look", ["zh", pytest.param("phone", marks=pytest.mark.long)], indirect=True)
def test_an_administrator_connects_a_model_and_chats(
    open_panel: OpenPanel, inspect: Inspect, root: User, scripted_model: ScriptedModel, look: dict[str, Any]
) -> None:
    scripted_model.models = ("alpha", "beta")
    page = open_panel(root, "/", **look)
    page.locator("#composer-hint .link").click()
    page.get_by_role("link", name="连接模型").click()
    inspect(page, "empty")
    page.get_by_role("link", name="llama.cpp").click()
    page.get_by_label("地址").fill(scripted_model.base_url)
    page.get_by_label("API 密钥").fill(KEY)
    page.get_by_role("button", name="测试", exact=True).click()
    expect(page.get_by_text("共列出 2 个模型")).to_be_visible()
    page.get_by_label("alpha").check()
    page.get_by_label("beta").check()
    page.get_by_role("button", name="测试", exact=True).click()
    expect(page.locator(".model-attempt")).to_have_count(2)
    inspect(page, "form")
    page.get_by_role("button", name="连接", exact=True).click()
    expect(page.get_by_text("已连接“")).to_be_visible()
    inspect(page, "list")
    assert KEY not in page.content()

    page.goto("/")
    scripted_model.requests.clear()
    picker = page.get_by_label("模型", exact=True)
    expect(picker.locator("option")).to_have_count(3)
    picker.select_option("beta")
    page.locator("#draft").fill("你好")
    page.locator("#draft").press("Enter")
    expect(page.locator("article.assistant[data-status=complete]")).to_have_count(1)
    assert scripted_model.chat_requests[0].body["model"] == "beta"
    expect(picker).to_have_value("beta")
    page.reload()
    expect(picker).to_have_value("beta")
    held: list[Route] = []
    page.route(
        "**/chat/sessions/*", lambda route: held.append(route) if route.request.method == "PATCH" else route.continue_()
    )
    picker.select_option(index=0)
    page.locator("#draft").fill("还在吗")  # sent while the choice is still on its way
    page.locator("#draft").press("Enter")
    expect(page.locator("article.user")).to_have_count(2)
    assert len(scripted_model.chat_requests) == 1
    held[0].continue_()
    expect(page.locator("article.assistant[data-status=complete]")).to_have_count(2)
    assert [request.body["model"] for request in scripted_model.chat_requests[-1:]] == ["alpha"]
    page.evaluate("Promise.allSettled(document.getAnimations().map((each) => each.finished))")
    inspect(page, "chat")
