"""What a process notes of its open turns, and what others make of it once it is dead (C6)."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError

from apps.chat.turn import process, run
from apps.chat.turn.process import Journal, fail_left_turns, fail_left_turns_soon
from apps.conversations.models import Message, MessageStatus
from apps.conversations.rounds import fail_round
from tests.support.factories import SessionFactory, open_message
from tests.support.http_server import ApiClient
from tests.support.processes import wait_until
from tests.support.scripted_model import ScriptedModel, refuse_with

pytestmark = pytest.mark.spec("C6")


def list_files(folder: Path) -> list[str]:
    return [path.read_text() for path in folder.iterdir()]


@pytest.mark.django_db
def test_only_what_a_dead_process_left_open_fails(tmp_path: Path) -> None:
    mine, dead = Journal(tmp_path), Journal(tmp_path)
    kept, answered, left = (open_message(SessionFactory()) for _ in range(3))
    mine.add(kept)
    for opened in (answered, left):
        dead.add(opened)
    dead.remove(answered)
    assert fail_left_turns(tmp_path) == 0  # both live
    dead.close()  # as the kernel does
    assert fail_left_turns(tmp_path) == 1
    assert list(Message.objects.filter(status=MessageStatus.FAILED).values_list("id", flat=True)) == [left.message_id]
    assert list_files(tmp_path) == [f"{kept.message_id} 1\n"]
    assert fail_left_turns(tmp_path) == 0
    mine.remove(kept)
    mine.close()
    assert list_files(tmp_path) == []


@pytest.mark.django_db
@pytest.mark.parametrize("text", ["", "\n", "no uuid\n", f"{uuid.UUID(int=7)} 1\n", f"{uuid.UUID(int=7)}", "é 1\n"])
def test_what_a_file_holds_besides_does_no_harm(tmp_path: Path, text: str) -> None:
    opened = open_message(SessionFactory())
    (tmp_path / "other").write_text(f"{opened.message_id} {opened.attempt + 1}\n")  # of a later run
    (tmp_path / "broken").write_text(f"{text}\n{opened.message_id} {opened.attempt}\n", encoding="utf-8")
    assert fail_left_turns(tmp_path) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.django_db
def test_without_a_folder_or_a_disk_nothing_breaks(tmp_path: Path) -> None:
    assert fail_left_turns(tmp_path / "none") == 0
    (tmp_path / "file").write_text("")
    opened, unwritable = open_message(SessionFactory()), Journal(tmp_path / "file")
    unwritable.add(opened)
    unwritable.remove(opened)
    assert Message.objects.get().status == MessageStatus.PENDING


@pytest.mark.django_db(transaction=True)
def test_what_was_left_fails_once_the_database_is_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = []

    def fail(folder: Path | None = None) -> int:
        attempts.append(folder)
        if len(attempts) < 3:
            raise OperationalError("the database is starting up")
        return 1

    monkeypatch.setattr(process, "fail_left_turns", fail)
    monkeypatch.setattr(process, "SECONDS_BETWEEN_ATTEMPTS", 0)
    asyncio.run(fail_left_turns_soon())
    assert len(attempts) == 3


@pytest.mark.long
@pytest.mark.parametrize("failures", [1, 3])
def test_marking_a_message_as_failed_is_tried_again(
    alice: ApiClient, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    attempts = []

    def lose(**given: Any) -> None:
        attempts.append(given)
        if len(attempts) <= failures:
            raise OperationalError("the server closed the connection")
        fail_round(**given)

    monkeypatch.setattr(run, "fail_round", lose)
    monkeypatch.setattr(run, "SECONDS_BETWEEN_ATTEMPTS", 0)
    model.script(refuse_with(401))
    assert alice.say(alice.new_session(), "你好").status_code == 503
    wait_until(lambda: Message.objects.get().status == "failed")
    assert len(attempts) == failures + 1
