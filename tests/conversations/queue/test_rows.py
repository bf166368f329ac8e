"""The queue in PostgreSQL: claimed by one run at a time, taken once, put off, given up, replayed."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction
from django.db.models import F

from apps.accounts.models import User
from apps.conversations import queue
from apps.conversations.models import Message, Session, Work
from apps.conversations.queue import (
    ALONE_FROM_ATTEMPTS,
    MAX_ATTEMPTS,
    MAX_POSTPONEMENTS,
    Blame,
    ClaimedWork,
    add_work,
    claim_session_work,
    claim_work,
    count_backlog,
    fail_lost_work,
    fail_work,
    has_claims,
    list_failed_ids,
    release_claims,
    release_claims_of,
    replay_failed,
    return_claims,
    take_work,
)
from apps.conversations.sessions import delete_session
from apps.core.db import release_connections
from tests.support.factories import SessionFactory
from tests.support.workers import Run

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
LONG_AFTER = datetime(9999, 1, 1, tzinfo=UTC)  # later than whatever the clock of the machine says
LEASE = timedelta(minutes=5)
LATER = NOW + LEASE + timedelta(seconds=1)
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("sent")]


def leave(session: Session, *texts: str, kind: str = "extract", now: datetime = NOW) -> list[Work]:
    """Messages in the session with work on each."""
    before = session.messages.count()
    messages = [
        Message(session=session, user=session.user, role="user", content=text, position=before + number)
        for number, text in enumerate(texts, start=1)
    ]
    Message.objects.bulk_create(messages)
    add_work(messages=messages, kinds=[kind], now=now)
    return list(Work.objects.filter(kind=kind, message__in=messages).order_by("id"))


def claim(
    token: str, *, worker: str = "", kind: str = "embed", now: datetime = NOW, limit: int = 100
) -> list[ClaimedWork]:
    return claim_work(kind=kind, token=token, worker=worker, now=now, lease=LEASE, limit=limit)


def claim_session(
    token: str, *, now: datetime = NOW, limit: int = 100, max_characters: int | None = None
) -> list[ClaimedWork]:
    return claim_session_work(
        kind="extract", token=token, now=now, lease=LEASE, limit=limit, max_characters=max_characters
    )


def ids(rows: Sequence[Work | ClaimedWork]) -> list[int]:
    return [row.id for row in rows]


def read(row: Work) -> Work:
    return Work.objects.get(pk=row.pk)


# Claiming


def test_what_is_due_is_claimed_oldest_first_and_by_one_run_only(session: Session):
    newer = leave(session, "晚一点", kind="embed", now=NOW - timedelta(minutes=1))
    older = leave(session, "早一点", "hello", kind="embed", now=NOW - timedelta(minutes=2))
    leave(session, "later", kind="embed", now=NOW + timedelta(seconds=1))
    leave(session, "another kind", kind="extract", now=NOW)
    assert ids(claim("a", limit=2)) == ids(older)
    assert ids(claim("b")) == ids(newer)
    assert claim("c") == []


def test_a_claim_tells_whose_the_work_is_and_counts_as_an_attempt(session: Session):
    User.objects.filter(id=session.user_id).update(data_epoch=7)
    (row,) = leave(session, "你好", kind="embed")
    (claimed,) = claim("a")
    assert claimed == ClaimedWork(
        id=row.id,
        user_id=session.user_id,
        data_epoch=7,
        session_id=session.id,
        message_id=row.message_id,
        recorded=False,
    )
    row = read(row)
    assert (row.claim, row.lease_until, row.attempts) == ("a", NOW + LEASE, 1)


def test_work_of_a_run_that_died_is_due_again_when_its_lease_has_run_out(session: Session):
    (row,) = leave(session, "你好", kind="embed")
    claim("dead")
    assert claim("b", now=NOW + LEASE) == []
    assert ids(claim("b", now=LATER)) == [row.id]
    with transaction.atomic():
        assert not take_work(
            work=[ClaimedWork(row.id, row.user_id, 0, session.id, row.message_id, False)], token="dead"
        )


def test_work_that_came_to_nothing_twice_joins_no_claim_of_others(session: Session):
    rows = leave(session, "一", "poison", "二", kind="embed")
    Work.objects.filter(id=rows[1].id).update(attempts=ALONE_FROM_ATTEMPTS)
    assert ids(claim("a")) == [rows[0].id, rows[2].id]
    assert ids(claim("b")) == [rows[1].id]


# Claiming sessions


def test_all_due_work_of_a_session_is_claimed_together_the_longest_waiting_session_first(session: Session):
    other = SessionFactory.create()
    first = leave(session, "一", now=NOW - timedelta(minutes=1))
    longest = leave(other, "one", now=NOW - timedelta(minutes=2))
    second = leave(session, "二", "三")
    waiting = leave(other, "two")
    assert ids(claim_session("a")) == ids(longest + waiting)
    assert ids(claim_session("b")) == ids(first + second)
    assert claim_session("c") == []


def test_a_session_that_a_run_holds_is_left_to_it(session: Session):
    held = leave(session, "一")
    claim_session("a")
    later = leave(session, "二")
    assert claim_session("b") == []
    assert ids(claim_session("b", now=LATER)) == ids(held + later)


def test_a_session_is_claimed_in_portions_of_rows_and_of_characters(session: Session):
    rows = leave(session, "四个字符", "五个字符啊", "1", "x" * 50)
    assert ids(claim_session("a", max_characters=9)) == ids(rows[:2])
    Work.objects.filter(id__in=ids(rows[:2])).delete()
    assert ids(claim_session("a", limit=1, max_characters=9)) == [rows[2].id]
    Work.objects.filter(id=rows[2].id).delete()
    assert ids(claim_session("a", max_characters=9)) == [rows[3].id]


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_runs_that_claim_at_once_never_share_a_session_nor_a_row():
    sessions = [SessionFactory.create() for _ in range(8)]
    for session in sessions:
        leave(session, "一", "二", "三")
        leave(session, "one", "two", kind="embed")

    def run(token: str) -> tuple[list[list[ClaimedWork]], list[ClaimedWork]]:
        try:
            held = []
            while claimed := claim_session(token, limit=2):
                held.append(claimed)
            batch: list[ClaimedWork] = []
            while rows := claim(token, limit=1):
                batch += rows
            return held, batch
        finally:
            release_connections()

    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(run, "abcdef"))
    claimed_sessions = [work for held, _batch in results for work in held]
    assert sorted(str(work[0].session_id) for work in claimed_sessions) == sorted(str(item.id) for item in sessions)
    assert all(len({item.session_id for item in work}) == 1 and len(work) == 2 for work in claimed_sessions)
    assert sorted(item.id for _held, batch in results for item in batch) == ids(
        list(Work.objects.filter(kind="embed").order_by("id"))
    )


# Taking


def test_what_is_taken_is_gone_and_taken_once(session: Session):
    leave(session, "一", "二", kind="embed")
    claimed = claim("a")
    with transaction.atomic():
        assert take_work(work=claimed, token="a")
    assert not Work.objects.exists()
    with transaction.atomic():
        assert not take_work(work=claimed, token="a")


@pytest.mark.parametrize(
    "change", [{"claim": "b"}, {"claim": None}, None], ids=["claimed by another", "given back", "deleted"]
)
def test_work_that_is_not_the_runs_any_more_is_not_taken(session: Session, change: dict[str, Any] | None):
    rows = leave(session, "一", "二", kind="embed")
    claimed = claim("a")
    row = Work.objects.filter(id=rows[1].id)
    row.update(**change) if change else row.delete()
    with transaction.atomic():
        assert not take_work(work=claimed, token="a")


@pytest.mark.spec("R3")
def test_work_on_what_was_erased_meanwhile_is_not_taken(session: Session):
    other = leave(SessionFactory.create(), "two", kind="embed")
    leave(session, "一", kind="embed")
    claimed = claim("a")
    User.objects.filter(id=session.user_id).update(data_epoch=F("data_epoch") + 1)
    with transaction.atomic():
        assert not take_work(work=claimed, token="a")
        transaction.set_rollback(True)
    with transaction.atomic():
        assert take_work(work=[item for item in claimed if item.id == other[0].id], token="a")


@pytest.mark.django_db(transaction=True)
def test_deleting_a_session_waits_for_the_result_that_is_being_written(session: Session, run_until_blocked: Run):
    leave(session, "一", kind="embed")
    claimed = claim("a")
    with transaction.atomic():
        assert take_work(work=claimed, token="a")
        deleting = run_until_blocked(delete_session, user=session.user, session_id=session.id)
        Message.objects.filter(session=session).update(is_collected=True)  # a result of the run
    assert deleting.result(200) == 1
    assert not Work.objects.exists()


# Coming to nothing


@pytest.fixture
def _no_jitter(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.WORK_RETRY_SECONDS = 10
    monkeypatch.setattr(queue.random, "uniform", lambda low, high: 1.0)


def fail(claimed: Sequence[ClaimedWork], *, blame: Blame, now: datetime = NOW) -> None:
    fail_work(work=claimed, token="a", error="model_unavailable: timeout", blame=blame, now=now)


@pytest.mark.usefixtures("_no_jitter")
def test_work_is_put_off_each_time_twice_as_long_up_to_an_hour(session: Session):
    (row,) = leave(session, "一", kind="embed")
    now, pauses = NOW, []
    for _ in range(12):
        fail(claim("a", now=now), blame=Blame.SERVER, now=now)
        pauses.append((read(row).due_at - now).total_seconds())
        assert claim("b", now=now) == []
        now = read(row).due_at
    assert pauses == [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600, 3600]
    row = read(row)
    assert (row.claim, row.lease_until, row.error) == (None, None, "model_unavailable: timeout")


@pytest.mark.long
@pytest.mark.usefixtures("_no_jitter")
@pytest.mark.parametrize(
    ("blame", "tries", "attempts"),
    [(Blame.SERVER, MAX_POSTPONEMENTS, 0), (Blame.UNSURE, MAX_POSTPONEMENTS, 2), (Blame.WORK, MAX_ATTEMPTS, 5)],
)
def test_who_is_to_blame_decides_how_long_it_is_tried(session: Session, blame: Blame, tries: int, attempts: int):
    (row,) = leave(session, "一", kind="embed")
    now, tried = NOW, 0
    while claimed := claim("a", now=now):
        tried += 1
        fail(claimed, blame=blame, now=now)
        now += timedelta(hours=1)
    row = read(row)
    assert (row.state, tried, row.attempts) == ("failed", tries, attempts)


def test_only_the_run_that_holds_the_claim_can_put_work_off(session: Session):
    (row,) = leave(session, "一", kind="embed")
    claimed = claim("dead")
    claim("b", now=LATER)
    fail_work(work=claimed, token="dead", error="ValueError", blame=Blame.WORK, now=LATER)
    row = read(row)
    assert (row.claim, row.error) == ("b", "")


def test_a_run_that_comes_back_finds_its_claims_free(session: Session):
    mine = leave(session, "一", "二", kind="embed")
    claim("a")
    others = leave(session, "三", kind="embed")
    claim("b")
    assert release_claims(token="a") == 2
    assert ids(claim("a")) == ids(mine)
    assert read(others[0]).claim == "b"
    assert [read(row).attempts for row in mine] == [2, 2]


def test_a_worker_that_comes_back_finds_free_what_its_runs_held_and_nothing_of_other_workers(
    session: Session, sent: list[str], django_capture_on_commit_callbacks: Any
):
    mine = [*leave(session, "一", kind="embed"), *leave(session, "二", kind="extract")]
    claim("a", worker="worker@host", kind="embed")
    claim("b", worker="worker@host", kind="extract")
    (other,) = leave(session, "三", kind="extract")
    claim("c", worker="worker-model@host", kind="extract")
    sent.clear()
    with django_capture_on_commit_callbacks(execute=True):
        assert release_claims_of(worker="worker@host") == 2
    assert sorted(sent) == ["apps.extraction.tasks.embed", "apps.extraction.tasks.extract"]
    assert {(row.claim, row.lease_until, row.attempts) for row in map(read, mine)} == {(None, None, 1)}
    assert read(other).claim == "c"
    assert [has_claims(worker=name) for name in ("worker@host", "worker-model@host")] == [False, True]


def test_what_was_only_given_back_counts_no_attempt(session: Session):
    (row,) = leave(session, "一", kind="embed")
    claim("a")
    assert return_claims(token="a") == 1
    row = read(row)
    assert (row.claim, row.lease_until, row.attempts, row.state) == (None, None, 0, "due")


def test_work_that_kills_its_worker_each_time_has_failed_in_the_end(session: Session):
    poison, harmless = leave(session, "poison", "harmless", kind="embed")
    kills = 0
    while poison.id in ids(claim("a")):
        kills += 1
        if read(harmless).claim == "a" and read(poison).attempts > ALONE_FROM_ATTEMPTS:
            pytest.fail("it took others along")
        release_claims(token="a")
    assert (kills, read(poison).state, read(poison).error) == (MAX_ATTEMPTS, "failed", "worker_lost")
    assert read(harmless).state == "due"


def test_work_whose_workers_were_lost_with_the_broker_has_failed_in_the_end(session: Session):
    (row,) = leave(session, "poison", kind="embed")
    now = NOW
    for _ in range(MAX_ATTEMPTS):
        assert fail_lost_work(now=now) == 0
        claim("a", now=now)
        now += LEASE + timedelta(seconds=1)
    assert fail_lost_work(now=now) == 1
    row = read(row)
    assert (row.state, row.error, row.claim) == ("failed", "worker_lost", None)


# Looking and replaying


def test_the_backlog_counts_each_kind(session: Session, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("apps.conversations.queue.timezone.now", lambda: NOW)
    leave(session, "一", "二", "三", kind="embed", now=NOW - timedelta(seconds=90))
    claim("a", limit=1)
    (failed,) = leave(session, "四", kind="extract", now=NOW - timedelta(hours=1))
    Work.objects.filter(id=failed.id).update(state="failed")
    assert count_backlog() == {
        "embed": {"due": 2, "claimed": 1, "failed": 0, "oldest_seconds": 90},
        "extract": {"due": 0, "claimed": 0, "failed": 1, "oldest_seconds": 0},
        "summarize": {"due": 0, "claimed": 0, "failed": 0, "oldest_seconds": 0},
    }


def test_replaying_makes_what_failed_due_as_if_never_tried_and_wakes_its_workers(
    session: Session, sent: list[str], django_capture_on_commit_callbacks: Any
):
    failed, other = leave(session, "一", "二", kind="extract")
    kept = leave(session, "三", kind="embed")
    Work.objects.filter(id__in=[failed.id, other.id]).update(
        state="failed", attempts=5, postponements=9, error="ValueError", due_at=LONG_AFTER
    )
    sent.clear()
    assert list_failed_ids() == list_failed_ids(kind="extract") == [failed.id, other.id]
    assert list_failed_ids(kind="embed") == []
    with django_capture_on_commit_callbacks(execute=True):
        assert replay_failed(ids=[failed.id, kept[0].id]) == 1
    assert sent == ["apps.extraction.tasks.extract"]
    row = read(failed)
    assert (row.state, row.attempts, row.postponements, row.error) == ("due", 0, 0, "")
    assert row.due_at < LONG_AFTER
    assert read(other).state == "failed"
