"""What models cost, in a browser: looked at by somebody and by staff, prices and budgets by keyboard, and mistakes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.core.llm.metering import Job, ModelCall, Usage
from apps.costs.budgets import Price, forget_paused, read_budgets, save_budgets, save_prices
from apps.costs.ledger import record_calls
from apps.costs.models import ModelPrice
from tests.e2e.panel.conftest import Inspect, OpenPanel

pytestmark = pytest.mark.spec("Q1", "Q2")


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


def test_nothing_was_called_yet(open_panel: OpenPanel, inspect: Inspect, mei: User, look: dict[str, Any]) -> None:
    page = open_panel(mei, "/admin/cost/", **look)
    expect(page.locator(".cost-empty h2")).to_be_visible()
    inspect(page, "empty")
