"""The ledger of calls (Q1), and monthly budgets: who has spent theirs, what waits then, and that it goes on (Q2)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from apps.accounts.models import User
from apps.accounts.services.erasure import erase_user
from apps.accounts.services.people import get_or_create_end_user
from apps.conversations.models import Message, Work
from apps.conversations.queue import add_work
from apps.conversations.worker import claim_batch, claim_rounds, claim_session
from apps.core.llm.metering import ModelCall, Usage
from apps.costs import models
from apps.costs.budgets import (
    Budgets,
    CostCollector,
    Paused,
    Price,
    decide,
    forget_paused,
    get_budget_state,
    save_budgets,
    save_prices,
)
from apps.costs.ledger import KEPT, divide, record_calls, sum_up_old_calls
from apps.costs.sums import Period, list_sums
from tests.support.factories import SessionFactory, UserFactory, open_message

AT = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
SUMMED = ("user", "calls", "tokens_in", "tokens_out", "tokens_cached", "ms", "created_at__hour")


def make_call(tokens: int = 100, *, at: datetime = AT) -> ModelCall:
    return ModelCall("reply", "m", Usage(tokens, 10, 50), estimated=False, at=at, ms=30)


@given(st.integers(0, 10**9), st.lists(st.integers(0, 10**6), min_size=1, max_size=20))
def test_nothing_is_lost_when_it_is_divided(total: int, weights: list[int]):
    parts = divide(total, weights)
    assert sum(parts) == total
    assert all(part >= 0 for part in parts)


@pytest.mark.spec("Q1")
@pytest.mark.django_db
def test_a_call_for_several_is_divided_by_what_they_sent():
    service = UserFactory.create()
    end_user = get_or_create_end_user(service=service, external_id="mei")
    owners = {(service.pk, 0): 300, (end_user.pk, 0): 100}
    record_calls([make_call(1001)], owners=owners)
    rows = models.ModelCall.objects.order_by("user_id").values_list("user_id", "service_id", "tokens_in", "tokens_out")
    assert list(rows) == [(service.pk, None, 750, 7), (end_user.pk, service.pk, 251, 3)]


@pytest.mark.spec("Q2")
@pytest.mark.django_db
def test_an_erasure_leaves_sums_without_the_person():
    user = UserFactory.create()
    owner = {(user.pk, user.data_epoch): 1}
    record_calls([make_call(), make_call(), make_call(at=AT.replace(day=21))], owners=owner)
    receipt = erase_user(user=user)
    assert (receipt.deleted["model_call"], receipt.verified) == (3, True)
    rows = models.ModelCall.objects.order_by("created_at").values_list("user", "calls", "tokens_in", "created_at__hour")
    assert list(rows) == [(None, 2, 200, 12), (None, 1, 100, 12)]
    # What was under way belongs to nobody, and a deleted account takes no sum with it.
    record_calls([make_call()], owners=owner)
    assert models.ModelCall.objects.filter(user=None).count() == 3
    User.objects.get(pk=user.pk).delete()
    assert models.ModelCall.objects.count() == 3


@pytest.mark.spec("Q1")
@pytest.mark.django_db
def test_old_calls_become_a_sum_of_their_day_and_nothing_is_lost():
    users = [UserFactory.create(), UserFactory.create()]
    for user in users:
        record_calls([make_call(), make_call(), make_call(at=AT + KEPT)], owners={(user.pk, user.data_epoch): 1})
    record_calls([make_call()], owners={(users[0].pk, 7): 1})  # nobody's
    now = AT + KEPT + timedelta(hours=1)
    for _again in range(2):
        sum_up_old_calls(now=now)
        rows = models.ModelCall.objects.order_by("created_at", "user_id").values_list(*SUMMED)
        assert [row for row in rows if row[-1] == 12] == [
            *((user.pk, 2, 200, 20, 100, 60, 12) for user in users),
            (None, 1, 100, 10, 50, 30, 12),
        ]
        assert [row for row in rows if row[-1] == 8] == [(user.pk, 1, 100, 10, 50, 30, 8) for user in users]


@pytest.mark.spec("Q1")
@pytest.mark.django_db
@pytest.mark.parametrize(("zone", "day"), [("Asia/Shanghai", 21), ("UTC", 20), ("America/New_York", 20)])
def test_a_call_counts_on_the_day_of_whoever_looks(zone: str, day: int):
    user = UserFactory.create()
    record_calls([make_call(at=AT.replace(hour=20))], owners={(user.pk, user.data_epoch): 1})
    period = Period(date(2026, 11, 19), date(2026, 11, 22), ZoneInfo(zone))
    assert [one.key for one in list_sums(["day", "job"], account=user, period=period)] == [
        (date(2026, 11, day), "reply")
    ]
    erase_user(user=user)  # the sum it leaves is on the day in UTC, wherever one looks from
    [left] = list_sums(["day"], account=None, period=period)
    assert left.key == (date(2026, 11, 20),)


ONE = Decimal(1)


@pytest.fixture(autouse=True)
def _look_again() -> Iterator[None]:
    forget_paused()
    yield
    forget_paused()


@pytest.fixture
def mei() -> User:
    """Somebody who has spent 2 this month, and has work of each kind."""
    user = UserFactory.create()
    spend(user, 2)
    leave_work(user)
    return user


def spend(user: User, millions: int) -> None:
    save_prices(currency="¥", prices={"m": Price(input=ONE, output=ONE)})
    call = ModelCall("extraction", "m", Usage(millions * 1_000_000, 0), estimated=False, at=timezone.now(), ms=1)
    record_calls([call], owners={(user.pk, user.data_epoch): 1})
    forget_paused()


def leave_work(user: User) -> None:
    opened = open_message(SessionFactory.create(user=user))
    messages = Message.objects.filter(id=opened.message_id)
    add_work(messages=messages, kinds=list(Work.Kind.values), now=timezone.now() - timedelta(minutes=1))


def list_claimed(user: User) -> list[str]:
    claims = {"extract": claim_rounds("t"), "summarize": claim_session("t"), "embed": claim_batch("t")}
    Work.objects.update(claim=None, lease_until=None)
    return [kind for kind, claim in claims.items() if claim and any(item.user_id == user.pk for item in claim.work)]


@pytest.mark.parametrize(
    ("budgets", "paused"),
    [
        (Budgets(), Paused()),
        (Budgets(installation=Decimal(6)), Paused(everybody=True)),
        (Budgets(installation=Decimal("6.01")), Paused()),
        (Budgets(person=Decimal(3)), Paused(accounts=frozenset({2}))),
        (Budgets(person=ONE, accounts={2: Decimal(4)}), Paused(accounts=frozenset({1}))),
        (Budgets(accounts={9: Decimal(4)}), Paused(accounts=frozenset({9}))),
        (Budgets(accounts={9: Decimal(5)}), Paused()),
        (Budgets(accounts={3: Decimal(0)}), Paused(accounts=frozenset({3}))),
    ],
)
@pytest.mark.django_db
@pytest.mark.spec("Q2")
def test_who_has_spent_what_they_may(budgets: Budgets, paused: Paused):
    spent = [(1, None, ONE), (2, 9, Decimal(3)), (None, 9, ONE), (None, None, ONE)]
    assert decide(budgets, spent) == paused


@pytest.mark.django_db
@pytest.mark.spec("Q2")
def test_nothing_waits_without_a_budget(mei: User):
    assert list_claimed(mei) == ["extract", "summarize", "embed"]


@pytest.mark.django_db
@pytest.mark.spec("Q2")
def test_the_work_of_a_person_waits_and_nobody_elses(mei: User):
    other = UserFactory.create()
    leave_work(other)
    save_budgets(installation=None, person=Decimal(2), accounts={})
    assert list_claimed(mei) == ["embed"]  # in this process: it costs nothing
    assert list_claimed(other) == ["extract", "summarize", "embed"]
    state = get_budget_state(mei, now=timezone.now())
    assert (state.amount, state.spent, state.paused) == (Decimal(2), Decimal(2), "person")
    assert not Work.objects.exclude(state=Work.State.DUE).exists()


@pytest.mark.django_db
@pytest.mark.spec("Q2")
def test_what_is_embedded_elsewhere_waits_too(mei: User, settings: object):
    settings.EMBEDDING_MODEL, settings.EMBEDDING_BASE_URL = "remote", "http://127.0.0.1:1/v1"  # type: ignore[attr-defined]
    save_budgets(installation=ONE, person=None, accounts={})
    assert list_claimed(mei) == []


@pytest.mark.django_db
@pytest.mark.spec("Q2")
def test_it_goes_on_when_the_budget_is_raised_and_when_the_month_ends(mei: User, monkeypatch: pytest.MonkeyPatch):
    save_budgets(installation=ONE, person=None, accounts={})
    assert get_budget_state(mei, now=timezone.now()).paused == "installation"
    assert list_claimed(mei) == ["embed"]
    save_budgets(installation=Decimal(3), person=None, accounts={mei: Decimal(3)})
    assert list_claimed(mei) == ["extract", "summarize", "embed"]
    save_budgets(installation=ONE, person=ONE, accounts={mei: None})
    assert list_claimed(mei) == ["embed"]
    later = (timezone.now().astimezone(UTC).replace(day=1) + timedelta(days=32)).replace(day=1, hour=1)
    monkeypatch.setattr(timezone, "now", lambda: later)
    assert list_claimed(mei) == ["extract", "summarize", "embed"]
    assert get_budget_state(mei, now=later).spent == 0


@pytest.mark.django_db
@pytest.mark.spec("Q2")
def test_a_service_pays_for_its_end_users_together():
    service = UserFactory.create()
    people = [get_or_create_end_user(service=service, external_id=name) for name in ("mei", "tom")]
    spend(people[0], 3)
    for person in people:
        leave_work(person)
    save_budgets(installation=None, person=None, accounts={service: Decimal(3)})
    assert [list_claimed(person) for person in people] == [["embed"]] * 2
    assert [get_budget_state(one, now=timezone.now()).paused for one in (*people, service)] == [
        "service",
        "service",
        "person",
    ]


@pytest.mark.django_db
@pytest.mark.spec("Q2")
def test_metrics_tell_what_was_spent_and_who_waits(mei: User):
    save_budgets(installation=None, person=ONE, accounts={})
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for metric in CostCollector().collect()
        for sample in metric.samples
    }
    assert found["jiyi_model_calls_total", "extraction", "m"] == 1
    assert found["jiyi_model_tokens_total", "extraction", "m", "in"] == 2_000_000
    assert found["jiyi_model_cost", "extraction", "m"] == 2
    assert (found["jiyi_budget_paused", "everybody"], found["jiyi_budget_paused", "accounts"]) == (0, 1)
