"""``manage.py replay_work`` and the gauges of the backlog."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command
from django.db import OperationalError
from django.test import Client

from apps.conversations import worker
from apps.conversations.management.commands import replay_work
from apps.conversations.models import Message, Work
from tests.support.factories import SessionFactory

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _work(sent: list[str]) -> None:
    """Three pieces of failed work, two of them embedding, and one that is due."""
    session = SessionFactory.create()
    owner = {"session": session, "user": session.user}
    for position in range(1, 4):
        message = Message.objects.create(**owner, role="user", content="x", position=position)
        Work.objects.create(**owner, message=message, kind="extract" if position == 3 else "embed", state="failed")
    Work.objects.create(**owner, message=message, kind="summarize")


def run(*arguments: str) -> str:
    output = StringIO()
    call_command("replay_work", *arguments, stdout=output)
    return output.getvalue()


def states() -> list[tuple[str, str]]:
    return list(Work.objects.order_by("id").values_list("kind", "state"))


def test_without_a_choice_it_only_shows_what_there_is():
    before = states()
    assert run() == (
        "embed: 2 failed, 0 due, 0 running\n"
        "extract: 1 failed, 0 due, 0 running\n"
        "summarize: 0 failed, 1 due, 0 running\n"
    )
    assert states() == before


def test_one_kind_is_replayed_in_batches(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(replay_work, "BATCH", 1)
    assert run("--kind", "embed") == "2 queued again.\n"
    assert states() == [("embed", "due"), ("embed", "due"), ("extract", "failed"), ("summarize", "due")]


def test_all_is_replayed_once():
    assert run("--all") == "3 queued again.\n"
    assert run("--all") == "0 queued again.\n"
    assert {state for _kind, state in states()} == {"due"}


def test_the_backlog_is_in_the_metrics(client: Client):
    lines = client.get("/metrics", headers={"host": "localhost"}).content.decode().splitlines()
    assert 'jiyi_work{kind="embed",state="failed"} 2.0' in lines
    assert 'jiyi_work{kind="summarize",state="due"} 1.0' in lines
    assert 'jiyi_work{kind="summarize",state="claimed"} 0.0' in lines
    (oldest,) = (line for line in lines if line.startswith('jiyi_work_oldest_seconds{kind="summarize"}'))
    assert float(oldest.split()[-1]) >= 0


def test_the_other_metrics_are_there_without_a_database(client: Client, monkeypatch: pytest.MonkeyPatch):
    def count_backlog() -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(worker, "count_backlog", count_backlog)
    answer = client.get("/metrics", headers={"host": "localhost"})
    assert answer.status_code == 200
    assert b"python_info" in answer.content
    assert b"jiyi_work" not in answer.content
