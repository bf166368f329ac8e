"""Waking workers: a caller never waits for the broker and never fails because of it, whatever state it is in."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from celery import Celery

from apps.conversations import queue
from tests.support.answers import answer
from tests.support.hanging import HangingServer
from tests.support.http_server import ApiClient
from tests.support.processes import wait_until
from tests.support.scripted_model import ScriptedModel
from tests.support.workers import PROJECT

NAME, LAST = "a.task", "another.task"


@pytest.fixture
def hanging_broker() -> Iterator[HangingServer]:
    broker = HangingServer()
    yield broker
    broker.close()


@pytest.fixture
def sender(monkeypatch: pytest.MonkeyPatch) -> queue._Sender:
    """The sender of this test alone."""
    sender = queue._Sender()
    monkeypatch.setattr(queue, "_get_sender", lambda: sender)
    return sender


@pytest.fixture
def failures(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What is logged about this test's names; a sender that another test left hanging may still have its say."""
    logged: list[dict[str, Any]] = []

    def log(event: str, *, task: str, cause: str) -> None:
        if task in (NAME, LAST):
            logged.append({"event": event, "task": task, "cause": cause})

    monkeypatch.setattr(queue.logger, "warning", log)
    return logged


def use_broker(monkeypatch: pytest.MonkeyPatch, url: str, **options: Any) -> None:
    app = Celery("test", broker=url, broker_transport_options=options, set_as_current=False)
    monkeypatch.setattr(queue, "current_app", app)


def not_sent(name: str) -> dict[str, str]:
    return {"event": "task_not_sent", "task": name, "cause": "OperationalError"}


@pytest.mark.spec("A2")
def test_a_turn_is_answered_while_the_broker_hangs(
    hanging_broker: HangingServer,
    sender: queue._Sender,
    alice: ApiClient,
    model: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
):
    use_broker(monkeypatch, hanging_broker.url)  # without a timeout: whoever waited for it would wait for good
    session = alice.new_session()
    model.script(answer("第一"), answer("第二"))
    alice.say(session, "你好").raise_for_status()
    wait_until(lambda: hanging_broker.asked)  # the sender is at it
    assert alice.say(session, "再见").raise_for_status().json()["assistant_message"]["content"] == "第二"


@pytest.mark.long
def test_a_broker_that_hangs_is_given_up_and_later_names_get_their_chance(
    hanging_broker: HangingServer,
    sender: queue._Sender,
    failures: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
):
    use_broker(monkeypatch, hanging_broker.url, socket_timeout=0.05)
    queue.send_task(NAME)
    wait_until(lambda: failures == [not_sent(NAME)])
    queue.send_task(LAST)
    wait_until(lambda: failures == [not_sent(NAME), not_sent(LAST)])


def test_a_broker_that_is_gone_fails_nobody(
    hanging_broker: HangingServer,
    sender: queue._Sender,
    failures: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
):
    hanging_broker.close()
    use_broker(monkeypatch, hanging_broker.url, max_retries=1, interval_start=0, interval_step=0)
    queue.send_task(NAME)
    queue.send_task(LAST)
    wait_until(lambda: len(failures) == 2)
    assert failures == [not_sent(NAME), not_sent(LAST)]


def test_a_name_that_waits_to_be_sent_is_not_sent_twice(sender: queue._Sender, monkeypatch: pytest.MonkeyPatch):
    sent: list[str] = []
    first_is_being_sent, go_on, done = threading.Event(), threading.Event(), threading.Event()

    class App:
        def send_task(self, name: str, **_options: Any) -> None:
            first_is_being_sent.set()
            assert go_on.wait(200)
            sent.append(name)
            if name == "end":
                done.set()

    monkeypatch.setattr(queue, "current_app", App())
    queue.send_task(NAME)
    assert first_is_being_sent.wait(200)
    for name in (NAME, NAME, "end", NAME):
        queue.send_task(name)
    go_on.set()
    assert done.wait(200)
    assert sent == [NAME, NAME, "end"]


FORK = """
import os, threading
import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")
django.setup()
from apps.conversations import queue

class App:
    sent = threading.Event()

    def send_task(self, name, **_options):
        print(name, flush=True)
        self.sent.set()

queue.current_app = App()
queue.send_task("parent")
assert App.sent.wait(200)
App.sent.clear()
if os.fork() == 0:
    queue.send_task("child")
    os._exit(not App.sent.wait(200))
os.wait()
"""


@pytest.mark.long
def test_a_process_sends_that_was_forked_from_one_that_has_sent():
    done = subprocess.run([sys.executable, "-c", FORK], cwd=PROJECT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["parent", "child"]
