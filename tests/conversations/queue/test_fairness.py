"""Who comes first: a turn before what was recorded, and of that everybody in turn, however much one person imports.

The quick tests ask for the order in which claims are handed out; the long one that a claim stays cheap among 100,000.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from apps.accounts.models import User
from apps.conversations.models import Message, Session, Work
from apps.conversations.queue import (
    CLAIM,
    CLAIM_SESSION,
    FIND_PLACE,
    ClaimedWork,
    add_work,
    claim_session_work,
    claim_work,
    take_work,
)
from apps.conversations.recordings import record_turns
from apps.conversations.types import RecordedMessage
from tests.support.factories import SessionFactory, UserFactory

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
LEASE = timedelta(minutes=5)
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("sent"), pytest.mark.spec("C9")]


@pytest.fixture
def ben() -> User:
    return UserFactory.create(username="ben")


def record(user: User, *, sessions: int, turns: int, now: datetime = NOW) -> list[Session]:
    """Import conversations of so many turns each."""
    said = [RecordedMessage(role="user", content=f"我说的第 {number} 句") for number in range(turns)]
    replied = [RecordedMessage(role="assistant", content=f"Reply {number}") for number in range(turns)]
    messages = [message for pair in zip(said, replied, strict=True) for message in pair]
    made = []
    for _ in range(sessions):
        made.append(SessionFactory.create(user=user))
        record_turns(user=user, session_id=made[-1].id, messages=messages, idempotency_key=None, now=now)
    return made


def say(session: Session, *, now: datetime = NOW) -> Message:
    """What a turn leaves: work that is not recorded."""
    position = session.messages.count() + 1
    message = Message.objects.create(session=session, user=session.user, role="user", content="现在", position=position)
    add_work(messages=[message], kinds=["embed", "extract", "summarize"], now=now)
    return message


def take(claimed: Sequence[ClaimedWork], token: str) -> None:
    with transaction.atomic():
        assert take_work(work=claimed, token=token)


def embed(now: datetime = NOW, limit: int = 100) -> list[ClaimedWork]:
    return claim_work(kind="embed", token="e", now=now, lease=LEASE, limit=limit)


def extract(now: datetime = NOW, limit: int = 20, kind: str = "extract") -> list[ClaimedWork]:
    return claim_session_work(kind=kind, token="x", now=now, lease=LEASE, limit=limit, max_characters=12_000)


def claims(now: datetime = NOW, **options: Any) -> Iterator[list[ClaimedWork]]:
    """Claim sessions one after the other, each done before the next."""
    while claimed := extract(now, **options):
        yield claimed
        take(claimed, "x")


@pytest.mark.long
def test_a_turn_during_an_import_of_3000_turns_is_claimed_next_in_every_kind(mei: User, ben: User):
    record(mei, sessions=30, turns=100)
    for _, claimed in zip(range(3), claims(), strict=False):
        assert {row.user_id for row in claimed} == {mei.id}
    take(embed(), "e")
    later = NOW + timedelta(minutes=10)
    said = say(SessionFactory.create(user=ben), now=later)
    for kind in ("extract", "summarize"):
        assert [row.message_id for row in extract(later, kind=kind)] == [said.id]
    batch = embed(later)
    assert len(batch) == 100
    assert said.id in {row.message_id for row in batch}


def test_a_turn_of_the_importing_person_comes_first_too_even_in_an_imported_session(mei: User):
    session, *_ = record(mei, sessions=3, turns=50)
    said = say(session, now=NOW + timedelta(minutes=1))
    later = NOW + timedelta(minutes=1)
    claimed = extract(later)
    assert [(row.message_id, row.recorded) for row in claimed] == [(said.id, False)]
    take(claimed, "x")
    assert {(row.session_id, row.recorded) for row in extract(later)} == {(session.id, True)}


@pytest.mark.long
def test_the_imports_of_two_people_take_turns_message_by_message(mei: User, ben: User):
    record(mei, sessions=15, turns=100)
    record(ben, sessions=150, turns=10, now=NOW + timedelta(seconds=1))
    later = NOW + timedelta(seconds=2)
    served = {mei.id: 0, ben.id: 0}
    while batch := embed(later):
        assert {row.user_id for row in batch} == {mei.id, ben.id}
        take(batch, "e")
    for number, claimed in enumerate(claims(later)):
        served[claimed[0].user_id] += len(claimed)
        if min(served.values()) < 1_500:  # neither has all of it
            assert abs(served[mei.id] - served[ben.id]) <= 20, number
    assert set(served.values()) == {1_500}


@pytest.mark.long
def test_who_comes_later_waits_for_nobody_and_overtakes_nobody_for_long(mei: User, ben: User):
    """Neither behind all of the longer import, nor before it until it has caught up."""
    record(mei, sessions=20, turns=20)
    for _, claimed in zip(range(10), claims(), strict=False):
        assert {row.user_id for row in claimed} == {mei.id}
    record(ben, sessions=10, turns=20)
    order = [claimed[0].user_id for claimed in claims()]
    assert order.index(ben.id) <= 1
    assert {tuple(sorted(order[start : start + 2])) for start in range(1, 19, 2)} == {tuple(sorted([mei.id, ben.id]))}


def test_work_that_was_put_off_is_no_measure_of_where_the_queue_is(mei: User, ben: User):
    record(mei, sessions=2, turns=10)
    Work.objects.filter(place__lt=15).update(due_at=NOW + timedelta(hours=1))
    record(ben, sessions=1, turns=1)
    assert Work.objects.get(user=ben, kind="extract").place == 16


@pytest.mark.long
def test_claims_and_places_stay_cheap_among_100_000_rows(mei: User, ben: User):
    """A claim reads what it claims and what runs hold, and no table from end to end."""
    sessions = [Session(user=user) for user in (mei, ben) for _ in range(50)]
    Session.objects.bulk_create(sessions)
    messages = [
        Message(session=session, user=session.user, role="user", content="话", position=position)
        for session in sessions
        for position in range(1, 1_001)
    ]
    Message.objects.bulk_create(messages, batch_size=10_000)
    Work.objects.bulk_create(
        [
            Work(
                kind="extract",
                user_id=message.user_id,
                session_id=message.session_id,
                message=message,
                recorded=True,
                place=number % 50_000,
                due_at=NOW,
            )
            for number, message in enumerate(messages)
        ],
        batch_size=10_000,
    )
    for _ in range(5):  # sessions that runs hold, and whose other rows come first
        extract()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE work")
        cursor.execute("ANALYZE conversation")
    values = {
        "kind": "extract",
        "now": NOW,
        "limit": 20,
        "alone_from": 2,
        "characters": 12_000,
        "user": mei.id,
        "paused": [],
    }
    for statement in (CLAIM + "SELECT * FROM chosen", CLAIM_SESSION + "SELECT * FROM chosen", FIND_PLACE):
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", values)
            (((plan,),),) = cursor.fetchall()
        assert count_visited(plan["Plan"]) < 6_000, json.dumps(plan, indent=1)


def count_visited(plan: dict[str, Any]) -> int:
    """How many rows a plan has looked at."""
    seen = plan["Actual Rows"] * plan["Actual Loops"] + plan.get("Rows Removed by Filter", 0)
    return int(seen) + sum(map(count_visited, plan.get("Plans", ())))
