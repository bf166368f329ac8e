"""A run of a task: claim, do, go on with the next, whatever happens to one piece; and the jobs' part in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import OperationalError
from django.utils import timezone

from apps.conversations import queue, worker
from apps.conversations.models import Message, Session, Work
from apps.conversations.queue import Blame, Claim, SessionClaim
from apps.conversations.recordings import record_turns
from apps.conversations.types import RecordedMessage
from apps.conversations.worker import claim_batch, claim_rounds, drain, finish, get_blame, name_error
from apps.core.errors import InvalidInput, ModelUnavailable
from apps.extraction import tasks
from apps.memory.models import ConversationEmbedding
from tests.support.factories import SessionFactory
from tests.support.scripted_model import ScriptedModel, embed_with, make_vector, refuse_with

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kinds of work that workers were woken for, in place of waking them."""
    kinds: list[str] = []
    for module in (queue, worker, tasks):
        monkeypatch.setattr(module, "wake_workers", kinds.extend)
    return kinds


def say(*texts: str, session: Session | None = None) -> Session:
    """Record messages of the user."""
    session = session or SessionFactory.create()
    messages = [RecordedMessage(role="user", content=text) for text in texts]
    record_turns(user=session.user, session_id=session.id, messages=messages, idempotency_key=None, now=timezone.now())
    return session


class Job:
    """Notes what it is given; raises what it is told to at a message of that text, else takes the work."""

    def __init__(self, **errors: Exception) -> None:
        self.errors = errors
        self.batches: list[list[str]] = []

    def __call__(self, claim: Claim) -> None:
        texts = [Message.objects.get(id=message_id).content for message_id in claim.message_ids]
        self.batches.append(texts)
        for text in texts:
            if text in self.errors:
                raise self.errors[text]
        with finish(claim):
            pass


def run(job: Callable[[SessionClaim], None], token: str = "a") -> None:
    drain(kind="extract", token=token, claim=claim_rounds, job=job)


def extract_work() -> list[tuple[str, str, str, int]]:
    rows = Work.objects.filter(kind="extract").order_by("id")
    return list(rows.values_list("message__content", "state", "error", "attempts"))


@pytest.mark.spec("A2")
def test_sessions_are_done_one_after_the_other_until_nothing_is_due(sent: list[str]):
    say("一", "二")
    say("one")
    sent.clear()
    job = Job()
    run(job)
    assert job.batches == [["一", "二"], ["one"]]
    assert extract_work() == []
    assert sent == []


def test_one_that_fails_is_put_off_and_the_others_are_done():
    say("一", "bad")
    say("one")
    job = Job(bad=ValueError("bad"))
    run(job)
    assert job.batches == [["一", "bad"], ["one"]]
    assert extract_work() == [("一", "due", "ValueError", 1), ("bad", "due", "ValueError", 1)]
    assert not Work.objects.filter(kind="extract", due_at__lte=timezone.now()).exists()


def test_in_the_end_only_the_bad_one_has_failed():
    say("一", "bad", "二")
    job = Job(bad=ValueError("bad"))
    for _ in range(8):
        Work.objects.update(due_at=timezone.now())
        run(job)
    assert job.batches == [["一", "bad", "二"]] * 2 + [["一"], ["bad"], ["二"]] + [["bad"]] * 2
    assert extract_work() == [("bad", "failed", "ValueError", 5)]


def test_with_the_server_away_one_is_tried_and_no_attempt_is_counted(sent: list[str]):
    say("一")
    say("one")
    sent.clear()
    job = Job(**{text: ModelUnavailable("", fields={"reason": "unreachable"}) for text in ("一", "one")})
    run(job)
    assert job.batches == [["一"]]
    assert extract_work() == [("一", "due", "model_unavailable: unreachable", 0), ("one", "due", "", 0)]
    assert sent == []  # the sweep tries again


def test_work_that_was_lost_meanwhile_is_given_back_and_tried_again():
    say("一", "二")
    losses = []

    def lose_once(claim: SessionClaim) -> None:
        if not losses:
            losses.append(Work.objects.filter(id=claim.work[0].id).delete())
        with finish(claim):
            pass

    run(lose_once)
    assert len(losses) == 1
    assert extract_work() == []


def test_without_a_database_the_task_ends_and_comes_back_under_its_name():
    say("一")
    with pytest.raises(OperationalError):
        run(Job(一=OperationalError("gone")))
    (row,) = Work.objects.filter(kind="extract")
    assert (row.claim, row.error) == ("a", "")
    other, same = Job(), Job()
    run(other, token="b")
    assert other.batches == []
    run(same, token="a")
    assert same.batches == [["一"]]
    assert OperationalError in tasks.extract.autoretry_for
    assert tasks.extract.max_retries is None


def test_an_error_while_writing_undoes_it_all():
    session = say("一")
    claim = claim_rounds("a")

    def write() -> None:
        with finish(claim):
            Session.objects.filter(id=session.id).update(title="written")
            raise ValueError("late")

    with pytest.raises(ValueError, match="late"):
        write()
    assert Session.objects.get().title == "一"
    assert Work.objects.filter(kind="extract", claim="a").count() == 1


@pytest.mark.parametrize(("recorded", "times"), [(False, range(0, 1000, 6)), (True, (0, 0.9, 1.1))])
def test_a_run_that_takes_long_makes_room_for_others_and_one_with_recorded_work_after_a_second(
    sent: list[str], monkeypatch: pytest.MonkeyPatch, settings: Any, recorded: bool, times: Iterable[float]
):
    settings.WORK_LEASE_SECONDS = 100
    clock = iter(times)
    monkeypatch.setattr(worker.time, "monotonic", lambda: next(clock))
    for number in range(4):
        say(f"第 {number} 句")
    Work.objects.update(recorded=recorded)
    sent.clear()
    job = Job()
    run(job)
    assert len(job.batches) == 2
    assert sent == ["extract"]


def fail_on_statement(sqlstate: str | None) -> OperationalError:
    """An error of the database as Django raises it."""
    error = OperationalError("the database said so")
    error.__cause__ = psycopg.OperationalError() if sqlstate is None else psycopg.errors.lookup(sqlstate)()
    return error


@pytest.mark.long
@pytest.mark.parametrize("sqlstate", [None, "57P01", "40P01", "08006", "25006"])
def test_a_database_that_is_away_costs_the_work_no_attempt_however_often(sqlstate: str | None):
    say("one")
    job = Job(one=fail_on_statement(sqlstate))
    for number in range(2 * queue.MAX_ATTEMPTS):
        with pytest.raises(OperationalError):
            drain(kind="extract", token="a", claim=claim_rounds, job=job, resumes=number > 0)
    assert Work.objects.get(kind="extract").attempts == 1
    drain(kind="extract", token="a", claim=claim_rounds, job=Job(), resumes=True)
    assert not Work.objects.filter(kind="extract").exists()


def test_a_statement_that_is_too_much_for_the_database_is_the_works_own_fault():
    say("one")
    drain(kind="extract", token="a", claim=claim_rounds, job=Job(one=fail_on_statement("57014")))
    work = Work.objects.get(kind="extract")
    assert (work.attempts, work.error, work.claim) == (1, "OperationalError", None)


# Embedding


@pytest.fixture
def embedder(scripted_model: ScriptedModel, settings: Any) -> ScriptedModel:
    """The scripted server as the embedding model; it refuses texts that contain "bad"."""
    settings.EMBEDDING_BASE_URL, settings.EMBEDDING_MODEL = scripted_model.base_url, "scripted-embedder"
    scripted_model.embed = lambda texts: (
        refuse_with(400) if any("bad" in text for text in texts) else embed_with(map(make_vector, texts))
    )
    return scripted_model


def embed() -> None:
    drain(kind="embed", token="a", claim=claim_batch, job=tasks.embed_messages)


@pytest.mark.spec("V1", "V3")
def test_messages_of_all_people_are_embedded_together(embedder: ScriptedModel):
    say("一", "二")
    say("one")
    embed()
    assert sorted(ConversationEmbedding.objects.values_list("content", flat=True)) == sorted(["一", "二", "one"])
    assert [len(request.body["input"]) for request in embedder.embedding_requests] == [3]
    assert not Work.objects.filter(kind="embed").exists()


@pytest.mark.spec("V3")
def test_one_that_the_model_refuses_fails_alone(embedder: ScriptedModel):
    say("一", "bad", "二")
    for _ in range(6):
        Work.objects.update(due_at=timezone.now())
        embed()
    assert sorted(ConversationEmbedding.objects.values_list("content", flat=True)) == sorted(["一", "二"])
    row = Work.objects.get(kind="embed")
    assert (row.message.content, row.state, row.error, row.attempts) == ("bad", "failed", "text_refused", 5)


# The sweep


def test_the_sweep_wakes_only_for_what_is_due(sent: list[str]):
    say("一")
    Work.objects.filter(kind="embed").delete()
    Work.objects.filter(kind="summarize").update(due_at=timezone.now() + timedelta(minutes=1))
    sent.clear()
    tasks.sweep()
    assert sent == ["extract"]


# Whose fault a failure is, and its name in log and queue: no text


def unavailable(reason: str, **fields: int) -> ModelUnavailable:
    return ModelUnavailable("I live in 北京, said the server.", fields={"reason": reason, **fields})


@pytest.mark.parametrize(
    ("error", "blame", "name"),
    [
        (unavailable("unreachable"), Blame.SERVER, "model_unavailable: unreachable"),
        (unavailable("rate_limited", status=429), Blame.SERVER, "model_unavailable: rate_limited 429"),
        (unavailable("no_model"), Blame.SERVER, "model_unavailable: no_model"),
        (unavailable("refused", status=401), Blame.SERVER, "model_unavailable: refused 401"),
        (unavailable("refused", status=404), Blame.SERVER, "model_unavailable: refused 404"),
        (unavailable("timeout"), Blame.UNSURE, "model_unavailable: timeout"),
        (unavailable("dropped"), Blame.UNSURE, "model_unavailable: dropped"),
        (unavailable("server_error", status=500), Blame.UNSURE, "model_unavailable: server_error 500"),
        (unavailable("refused", status=400), Blame.WORK, "model_unavailable: refused 400"),
        (unavailable("bad_answer"), Blame.WORK, "model_unavailable: bad_answer"),
        (ModelUnavailable("I live in 北京"), Blame.WORK, "model_unavailable"),
        (InvalidInput("I live in 北京"), Blame.WORK, "invalid"),
        (ValueError("I live in 北京"), Blame.WORK, "ValueError"),
    ],
    ids=str,
)
def test_a_failure_has_somebody_to_blame_and_a_name_without_text(error: Exception, blame: Blame, name: str):
    assert (get_blame(error), name_error(error)) == (blame, name)
