"""Workers, broker and database die in the middle of background work: nothing is lost, and nothing is done twice.

All of them are long tests; in every run a web process is killed (`tests/chat/turn/test_killed.py`).
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from django.db.models import Count
from django.utils import timezone
from redis import Redis
from redis.exceptions import RedisError

from apps.conversations.models import Message, Role, Session, Work
from apps.conversations.recordings import record_turns
from apps.conversations.types import RecordedMessage
from apps.embedded.layout import DataLayout
from apps.embedded.servers import get_missing_servers
from apps.extraction import tasks
from apps.memory.models import AtomicMemory
from apps.summaries.models import SessionSummary
from tests.support.factories import SessionFactory
from tests.support.processes import wait_until
from tests.support.scripted_model import (
    Behaviour,
    Gate,
    Raw,
    RecordedRequest,
    Reply,
    ScriptedModel,
    embed_with,
    make_vector,
)
from tests.support.workers import run_worker

# What is said, one fact a session, and what the model makes of it.
FACTS = {
    "我养了一只叫豆豆的猫": "用户养了一只叫豆豆的猫。",
    "I play the cello in an orchestra": "The user plays the cello in an orchestra.",
    "我在杭州当护士": "用户在杭州当护士。",
}

# Seconds. Only where a lease has to run out is it short; elsewhere the test fails if anything waits for one.
SHORT_LEASE, LONG_LEASE = 5, 600
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spec("A2", "V1")]


def read_kind(request: RecordedRequest) -> str:
    """What the request asks for."""
    return str(request.response_format["json_schema"]["name"])


def answer(request: RecordedRequest) -> str:
    """What the model answers by default: the facts in the prompt, or a summary."""
    kind = read_kind(request)
    if kind == "session_summary":
        return json.dumps({"title": "闲聊", "snippet": "用户说了自己的事。"}, ensure_ascii=False)
    if kind == "conversation_summary":
        return json.dumps({"summary": "用户说了很多事。"}, ensure_ascii=False)
    assert kind == "extraction"
    prompt = request.messages[-1]["content"]
    memories = [{"about": 1, "content": fact} for said, fact in FACTS.items() if said in prompt]
    return json.dumps({"memories": memories}, ensure_ascii=False)


class Holding:
    """The model, stopping at the first request of each of these kinds until its client is gone or all may go on."""

    def __init__(self, model: ScriptedModel, *kinds: str) -> None:
        self._waiting = set(kinds)
        self._gate = Gate()
        self.held: list[str] = []
        model.default, model.embed = self._answer, self._embed

    def let_go(self) -> None:
        """Stop at nothing any more."""
        self._gate.open()

    def stands(self, count: int = 1) -> bool:
        """Whether it has stopped at so many kinds."""
        return len(self.held) == count

    def _answer(self, request: RecordedRequest) -> str | Behaviour:
        return Reply((self._gate, answer(request))) if self._holds(read_kind(request)) else answer(request)

    def _embed(self, texts: list[str]) -> Behaviour:
        if FACTS.keys() <= set(texts) and self._holds("embedding"):
            return Raw((self._gate,))
        return embed_with(map(make_vector, texts))

    def _holds(self, kind: str) -> bool:
        if kind not in self._waiting:
            return False
        self._waiting.remove(kind)
        self.held.append(kind)
        return True


def say_everything() -> None:
    """Record a session for each fact; the last is long enough for a summary of the conversation."""
    for number, said in enumerate(FACTS, start=1):
        texts = [said, *(f"第 {line} 句" for line in range(11 if number == len(FACTS) else 0))]
        session = SessionFactory.create()
        record_turns(
            user=session.user,
            session_id=session.id,
            messages=[RecordedMessage(role=role, content=text) for text in texts for role in ("user", "assistant")],
            idempotency_key=None,
            now=timezone.now(),
        )


def sweeping(condition: Callable[[], bool]) -> Callable[[], bool]:
    """The condition, with the sweep that beat would send meanwhile."""
    due = time.monotonic()

    def check() -> bool:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + 0.5
            tasks.sweep()
        return condition()

    return check


def nothing_left() -> bool:
    return not Work.objects.exists()


def assert_done_once() -> None:
    """Every message is embedded once, every memory and summary is there once."""
    embedded = Message.objects.annotate(count=Count("conversation_embeddings"))
    assert [message.role for message in embedded if message.count != 1] == []
    assert sorted(AtomicMemory.objects.values_list("content", flat=True)) == sorted(FACTS.values())
    assert SessionSummary.objects.count() == Session.objects.count() == len(FACTS)
    summary = Message.objects.get(role=Role.SUMMARY)
    assert Message.objects.filter(summarized_by=summary).count() == 2 * 12 - 4


KINDS = ("extraction", "embedding", "conversation_summary")


@pytest.mark.long
@pytest.mark.parametrize("kinds", [KINDS[:1], KINDS])
def test_a_worker_killed_in_the_middle_of_each_kind_of_work_goes_on_as_soon_as_it_is_back(
    scripted_model: ScriptedModel, log: Path, kinds: tuple[str, ...]
):
    model = Holding(scripted_model, *kinds)
    say_everything()
    for count in range(1, len(kinds) + 1):
        with run_worker(model=scripted_model, lease_seconds=LONG_LEASE, log=log) as worker:
            wait_until(sweeping(partial(model.stands, count)))
            worker.kill()
        assert Work.objects.filter(claim__isnull=False).exists()
    with run_worker(model=scripted_model, lease_seconds=LONG_LEASE, log=log):
        wait_until(sweeping(nothing_left))
    assert_done_once()


@pytest.mark.long
def test_what_a_worker_held_that_never_comes_back_is_done_when_its_lease_has_run_out(
    scripted_model: ScriptedModel, log: Path
):
    model = Holding(scripted_model, "extraction")
    say_everything()
    with run_worker(name="gone", model=scripted_model, lease_seconds=SHORT_LEASE, log=log) as worker:
        wait_until(sweeping(model.stands))
        worker.kill()
    assert Work.objects.filter(claim__isnull=False).exists()
    with run_worker(name="another", model=scripted_model, lease_seconds=LONG_LEASE, log=log):
        wait_until(sweeping(nothing_left))
    assert_done_once()


@pytest.mark.long
def test_a_second_worker_of_the_same_name_takes_nothing_from_the_first(scripted_model: ScriptedModel, log: Path):
    model = Holding(scripted_model, "extraction")
    say_everything()
    with run_worker(model=scripted_model, lease_seconds=LONG_LEASE, log=log):
        wait_until(sweeping(model.stands))
        claimed = list(Work.objects.filter(claim__isnull=False).values_list("id", "claim", "lease_until"))
        with run_worker(model=scripted_model, lease_seconds=LONG_LEASE, log=log):
            wait_until(lambda: "worker_name_taken" in log.read_text())
            still = Work.objects.filter(id__in=[row_id for row_id, *_ in claimed])
            assert list(still.values_list("id", "claim", "lease_until")) == claimed
            model.let_go()
            wait_until(sweeping(nothing_left))
    assert_done_once()
    assert [read_kind(request) for request in scripted_model.chat_requests].count("extraction") == len(FACTS)


@pytest.mark.long
def test_a_worker_whose_child_is_killed_again_and_again_goes_on_at_once(scripted_model: ScriptedModel, log: Path):
    model = Holding(scripted_model, *KINDS)
    say_everything()
    with run_worker(model=scripted_model, lease_seconds=LONG_LEASE, log=log) as worker:
        for count in range(1, len(KINDS) + 1):
            wait_until(sweeping(partial(model.stands, count)))
            worker.kill_child()
        wait_until(sweeping(nothing_left))
    assert_done_once()


def end_broker() -> None:
    """Kill it; its keeper starts an empty one."""
    broker = Redis.from_url(settings.REDIS_URL)
    ended = broker.info("server")["process_id"]
    os.kill(ended, signal.SIGKILL)

    def is_another() -> bool:
        try:
            return broker.info("server")["process_id"] != ended
        except RedisError:
            return False

    wait_until(is_another)
    assert broker.dbsize() == 0


def restart_database() -> None:
    """Have it end all connections and stop; its keeper starts it again."""
    pid_file = DataLayout.at(settings.DATA_DIR).state("postgres") / "postmaster.pid"
    ended = pid_file.read_text().split()[0]
    os.kill(int(ended), signal.SIGINT)

    def is_another() -> bool:
        try:
            words = pid_file.read_text().split()
        except FileNotFoundError:
            return False
        return len(words) > 1 and words[0] != ended and words[-1] == "ready"

    wait_until(is_another)
    connection.close()


@pytest.mark.long
@pytest.mark.skipif("valkey" not in get_missing_servers(), reason="the broker is not ours to kill")
def test_a_broker_killed_and_emptied_with_work_queued(scripted_model: ScriptedModel, log: Path):
    model = Holding(scripted_model, "extraction")
    with run_worker(model=scripted_model, lease_seconds=LONG_LEASE, log=log):
        say_everything()
        wait_until(model.stands)
        end_broker()
        model.let_go()
        wait_until(sweeping(nothing_left))
    assert_done_once()


@pytest.mark.long
@pytest.mark.skipif("postgres" not in get_missing_servers(), reason="the database is not ours to restart")
def test_a_database_restarted_under_load(scripted_model: ScriptedModel, log: Path):
    model = Holding(scripted_model, "extraction")
    with run_worker(model=scripted_model, lease_seconds=LONG_LEASE, log=log):
        say_everything()
        wait_until(model.stands)  # a connection that was used is idle now, and dies
        restart_database()
        model.let_go()
        restart_database()  # in the middle of whatever comes next
        wait_until(sweeping(nothing_left))
    assert_done_once()
