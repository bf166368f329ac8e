"""The page of what models cost, its file, prices and budgets."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.core.llm.metering import Job, ModelCall, Usage
from apps.costs.budgets import Price, forget_paused, read_budgets, save_budgets, save_prices
from apps.costs.ledger import record_calls
from apps.costs.models import CostPlan, ModelPrice
from apps.panel.costs import show_cost
from tests.panel.conftest import browse
from tests.support.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.spec("Q1", "Q2")]


@pytest.fixture(autouse=True)
def _look_again() -> Iterator[None]:
    forget_paused()
    yield
    forget_paused()


@pytest.fixture
def mei() -> User:
    """Somebody with a reply of 2 ¥ and an extraction of 1 ¥."""
    user = UserFactory.create(username="mei")
    save_prices(currency="¥", prices={"m": Price(input=Decimal(1), output=Decimal(10), cached=Decimal("0.1"))})
    spend(user, "reply", Usage(1_000_000, 100_000))
    spend(user, "extraction", Usage(1_900_000, 0, 1_000_000))
    return user


def spend(user: User, job: Job, usage: Usage, *, model: str = "m") -> None:
    call = ModelCall(job, model, usage, estimated=job == "reply", at=timezone.now(), ms=500)
    record_calls([call], owners={(user.pk, user.data_epoch): 1})


@pytest.fixture
def staff() -> Client:
    return browse(User.objects.create_superuser("root"))


def list_tiles(response: Any) -> list[tuple[str, str]]:
    return [(tile["label"], tile["value"]) for tile in response.context["tiles"]]


def test_what_memory_cost_stands_apart_from_replies(mei: User, staff: Client):
    spend(UserFactory.create(username="tom"), "summary", Usage(500_000, 0), model="free")
    page = staff.get("/admin/cost/?days=7")
    assert list_tiles(page)[:3] == [
        ("In all", "¥ 3.00"),
        ("What memory cost", "¥ 1.00"),
        ("What replies cost", "¥ 2.00"),
    ]
    assert page.context["unpriced"] == ["free"]
    assert page.context["estimated"] == 1
    assert [row["name"] for table in page.context["tables"] for row in table.rows] == [
        *("Replies", "Extraction", "Summaries"),
        *("m", "free"),
        *("mei", "tom"),
    ]
    own = staff.get(f"/admin/cost/?user={mei.pk}")
    assert [table.title for table in own.context["tables"]] == ["By job", "By model"]


def test_a_person_sees_their_own_alone(mei: User):
    browser = browse(UserFactory.create(username="tom"))
    assert "No model was called in this period" in browser.get(f"/admin/cost/?user={mei.pk}").text
    page = browse(mei).get("/admin/cost/")
    assert page.context["plan"] is None
    assert "Model calls for you" in page.text


def test_the_file_has_a_line_for_each_day_person_job_and_model(mei: User, staff: Client):
    User.objects.filter(pk=mei.pk).update(username="=mei")
    response = staff.get("/admin/cost/export/")
    rows = list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))  # type: ignore[attr-defined]
    assert [(row["user"], row["job"], row["cost"], row["currency"]) for row in rows] == [
        ("'=mei", "extraction", "1", "¥"),
        ("'=mei", "reply", "2", "¥"),
    ]
    assert response.headers["Content-Type"].startswith("text/csv")


def plan_of(**changes: Any) -> dict[str, Any]:
    rows = {"model": ["m"], "input": ["2"], "cached": [""], "output": ["8"]}
    accounts = {"account": ["mei", ""], "amount": ["5", ""]}
    return {"currency": "€", **rows, "installation": "100", "person": "", **accounts, **changes}


def test_prices_and_budgets_are_saved_together(mei: User, staff: Client):
    assert staff.post("/admin/cost/plan/", plan_of()).status_code == 302
    assert ModelPrice.objects.values_list("model", "input", "cached", "output").get() == ("m", 2, None, 8)
    assert (CostPlan.objects.get().currency, read_budgets().installation) == ("€", 100)
    assert read_budgets().accounts == {mei.pk: 5}
    assert list_tiles(staff.get("/admin/cost/"))[0] == ("In all", "€ 6.60")
    nothing = {"input": [""], "output": [""], "installation": "", "amount": ["", ""]}
    assert staff.post("/admin/cost/plan/", plan_of(**nothing)).status_code == 302
    assert (ModelPrice.objects.count(), read_budgets().are_none) == (0, True)


@pytest.mark.parametrize(
    "changes",
    [
        {"input": ["-1"]},
        {"output": ["a lot"]},
        {"cached": ["1e400"]},
        {"installation": "-1"},
        {"person": "NaN"},
        {"amount": ["-5", ""]},
        {"account": ["nobody", ""]},
        {"account": ["", ""]},  # an amount for nobody
        {"account": ["m\0i", ""]},
        {"currency": "x" * 13},
        {"currency": "\0"},
        {"model": ["m" * 201]},
        {"model": ["\0"]},
    ],
)
def test_what_is_no_amount_changes_nothing(mei: User, staff: Client, changes: dict[str, Any]):
    page = staff.post("/admin/cost/plan/", plan_of(**changes))
    assert page.status_code == 400
    assert page.context["plan"].problems
    assert (CostPlan.objects.get().currency, read_budgets().are_none) == ("¥", True)


def test_what_is_entered_again_after_a_mistake_stands_there(mei: User, staff: Client):
    save_budgets(installation=None, person=None, accounts={mei: Decimal(1)})
    plan = staff.post("/admin/cost/plan/", plan_of(person="lots", account=["mei", "tom", ""])).context["plan"]
    assert (plan.person, plan.accounts, list(plan.budgeted)) == ("lots", [("mei", "5"), ("tom", "")], ["mei"])


def test_the_budget_of_the_installation_is_told_before_it_is_spent(mei: User, staff: Client):
    save_budgets(installation=Decimal(12), person=None, accounts={})
    page = staff.get("/admin/cost/")
    assert "¥ 3.00 of the monthly budget of ¥ 12.00 are spent." in page.text
    assert "paused" not in page.text.split("cost-plan")[0]
    ModelPrice.objects.all().delete()
    assert "Without a price, so in no amount and no budget: m" in staff.get("/admin/cost/").text


def test_models_that_clients_made_up_do_not_fill_the_page(mei: User, staff: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("apps.panel.costs.MOST_SHOWN", 3)
    for number in range(6):
        spend(mei, "reply", Usage(1, 1), model=f"made up {number}")
    page = staff.get("/admin/cost/")
    assert len(page.context["plan"].prices) <= 4
    assert [len(table.rows) for table in page.context["tables"] if table.title == "By model"] == [3]


@pytest.mark.parametrize(
    ("amount", "shown"),
    [("0", "¥ 0.00"), ("0.00002", "< ¥ 0.0001"), ("0.0345", "¥ 0.0345"), ("0.5", "¥ 0.50"), ("1234.5", "¥ 1,234.50")],
)
def test_an_amount_is_never_rounded_to_nothing(amount: str, shown: str):
    assert show_cost(Decimal(amount), "¥") == shown


def test_only_who_connects_models_sets_prices(mei: User):
    assert browse(mei).post("/admin/cost/plan/", plan_of()).status_code == 403


def test_a_spent_budget_is_told_where_people_look(mei: User, staff: Client):
    save_budgets(installation=None, person=Decimal(3), accounts={})
    own = browse(mei)
    assert "¥ 3.00 of the monthly budget of ¥ 3.00 are spent." in own.get("/admin/cost/").text
    assert "Background work is paused" in own.get("/admin/cost/").text
    assert "Paused until next month" in own.get("/admin/work/progress/").text
    assert "1 account is paused by its budget" in staff.get("/admin/work/progress/").text
