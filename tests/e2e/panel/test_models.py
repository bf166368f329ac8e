"""Connected models and what they cost, in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Route, expect

from apps.accounts.models import User
from apps.core.llm.metering import Job, ModelCall, Usage
from apps.costs.budgets import Price, forget_paused, read_budgets, save_budgets, save_prices
from apps.costs.ledger import record_calls
from apps.costs.models import ModelPrice
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


@pytest.fixture
def spent(mei: User) -> Iterator[None]:
    """Some days of calls of two models, one of which has a price, and a budget that is spent."""
    jobs: list[tuple[Job, str]] = [("reply", "deepseek-chat"), ("extraction", "deepseek-chat"), ("summary", "local")]
    calls = [
        ModelCall(job, model, Usage(5_000, 300, 4_000), estimated=model == "local", at=at, ms=900)
        for at in (timezone.now() - timedelta(days=days) for days in range(4))
        for job, model in jobs
    ]
    record_calls(calls, owners={(mei.pk, mei.data_epoch): 1})
    save_prices(currency="¥", prices={"deepseek-chat": Price(input=Decimal(2), output=Decimal(8))})
    save_budgets(installation=None, person=Decimal("0.001"), accounts={})
    yield
    forget_paused()


@pytest.mark.usefixtures("spent")
@pytest.mark.parametrize("look", ["zh", "dark", "phone", "night"], indirect=True)
@pytest.mark.spec("Q1", "Q2")
def test_somebody_looks_at_what_they_cost(
    open_panel: OpenPanel, inspect: Inspect, mei: User, look: dict[str, Any]
) -> None:
    page = open_panel(mei, "/admin/cost/?days=7", **look)
    expect(page.get_by_role("status").filter(has_text="¥ 0.0010")).to_be_visible()
    expect(page.locator(".cost-charts canvas").first).to_be_visible()
    expect(page.get_by_role("row", name="local")).to_be_visible()
    expect(page.locator("form[action*=plan]")).to_have_count(0)
    inspect(page, "own")


@pytest.mark.usefixtures("spent")
@pytest.mark.spec("Q1", "Q2")
def test_an_operator_enters_prices_and_budgets_by_keyboard(open_panel: OpenPanel, inspect: Inspect, mei: User) -> None:
    page = open_panel(User.objects.create_superuser("root"), "/admin/cost/", language="en-US")
    price = page.get_by_label("local: Input", exact=True)
    price.focus()
    page.keyboard.type("-1")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("local: Ensure this value is greater than or equal to 0.")
    expect(page.get_by_role("alert")).to_be_in_viewport()
    inspect(page, "mistake")
    assert ModelPrice.objects.count() == 1
    page.get_by_label("local: Input", exact=True).fill("1")
    page.get_by_label("Username").last.fill("mei")
    page.get_by_label("Username").last.press("Tab")
    page.keyboard.type("7.5")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Prices and budgets were saved.")).to_be_visible()
    assert ModelPrice.objects.get(model="local").input == 1
    assert read_budgets().accounts == {mei.pk: Decimal("7.5")}
    expect(page.get_by_label("Username").first).to_have_attribute("readonly", "")
    inspect(page, "saved")


@pytest.mark.spec("Q1", "Q2")
def test_nothing_was_called_yet(open_panel: OpenPanel, inspect: Inspect, mei: User, look: dict[str, Any]) -> None:
    page = open_panel(mei, "/admin/cost/", **look)
    expect(page.locator(".cost-empty h2")).to_be_visible()
    inspect(page, "empty")
