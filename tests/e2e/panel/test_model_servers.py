"""A model is connected in a browser, and answers in the conversation at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from apps.accounts.models import User
from tests.support.scripted_model import ScriptedModel

KEY = "sk-very-secret-0123456789"
WORDS = {
    "zh-CN": {
        "connect": "连接模型", "key": "API 密钥", "test": "测试", "found": "共列出 2 个模型", "do": "连接",
        "models": "模型", "done": "已连接“", "url": "地址",
    },
    "en-US": {
        "connect": "Connect a model", "key": "API key", "test": "Test", "found": "It lists 2 models", "do": "Connect",
        "models": "Model", "done": "is connected", "url": "URL",
    },
}  # fmt: skip


@pytest.fixture
def root(mei: User) -> User:
    mei.is_staff = mei.is_superuser = True
    mei.save()
    return mei


@pytest.mark.journey
@pytest.mark.parametrize(
    "look", ["zh", *(pytest.param(look, marks=pytest.mark.long) for look in ("dark", "phone"))], indirect=True
)
def test_an_administrator_connects_a_model_and_chats(
    open_panel: Callable[..., Page],
    inspect: Callable[..., None],
    root: User,
    scripted_model: ScriptedModel,
    look: dict[str, Any],
) -> None:
    scripted_model.models = ("alpha", "beta")
    words = WORDS[look["language"]]
    page = open_panel(root, "/", **look)
    page.locator("#composer-hint .link").click()
    page.get_by_role("link", name=words["connect"]).click()
    inspect(page, "empty")
    page.get_by_role("link", name="llama.cpp").click()
    page.get_by_label(words["url"]).fill(scripted_model.base_url)
    page.get_by_label(words["key"]).fill(KEY)
    page.get_by_role("button", name=words["test"], exact=True).click()
    expect(page.get_by_text(words["found"])).to_be_visible()
    page.get_by_label("alpha").check()
    page.get_by_label("beta").check()
    page.get_by_role("button", name=words["test"], exact=True).click()
    expect(page.locator(".model-attempt")).to_have_count(2)
    inspect(page, "form")
    page.get_by_role("button", name=words["do"], exact=True).click()
    expect(page.get_by_text(words["done"])).to_be_visible()
    inspect(page, "list")
    assert KEY not in page.content()

    page.goto("/")
    scripted_model.requests.clear()
    picker = page.get_by_label(words["models"], exact=True)
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
