"""The ledger of calls: whose they are, how those for several are divided, what an erasure leaves."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.accounts.models import User
from apps.accounts.services.erasure import erase_user
from apps.accounts.services.people import get_or_create_end_user
from apps.core.llm.metering import ModelCall, Usage
from apps.costs import models
from apps.costs.ledger import KEPT, divide, record_calls, sum_up_old_calls
from apps.costs.sums import Period, list_sums
from tests.support.factories import UserFactory

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
