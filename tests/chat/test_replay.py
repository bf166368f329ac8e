"""``manage.py replay``: a folder becomes sessions and memories; running it again goes on and doubles nothing."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connections
from django.utils import timezone

from apps.accounts.models import User
from apps.conversations.models import Message, Session
from apps.conversations.rounds import fail_abandoned_rounds
from apps.memory.models import LongTermMemory
from tests.support.answers import answer
from tests.support.scripted_model import RecordedRequest, ScriptedModel, refuse_with

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.long_except("test_a_folder_that_cannot_be_used_changes_nothing"),
]

# ID, user, session, role and text of a row.
Said = tuple[str, str, str, str, str]

DIARY: tuple[Said, ...] = (
    ("lin/0U", "lin", "2024-03-02", "user", "我最喜欢的颜色是绿色"),
    ("lin/0A", "lin", "2024-03-02", "assistant", "绿色很好看。"),
    ("lin/1U", "lin", "2024-03-02", "user", "今天天气不错"),
    ("ann/0U", "ann", "2024-03-02", "user", "My favorite color is red."),
    ("lin/2U", "lin", "2024-03-01", "user", "你好，我叫林小雨。"),
)


def write_folder(folder: Path, rows: Iterable[Said] = DIARY) -> Path:
    folder.mkdir(exist_ok=True)
    lines = [
        {
            "_id": key,
            "text": text,
            "metadata": {
                "user_id": user,
                "session_id": session,
                "role": role,
                "speaker": user,
                "timestamp": f"{session}T08:00:00",
            },
        }
        for key, user, session, role, text in rows
    ]
    (folder / "corpus.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return folder


def replay(folder: Path, **options: Any) -> str:
    output = StringIO()
    call_command("replay", str(folder), stdout=output, stderr=output, **options)
    return output.getvalue()


def list_sent(username: str) -> list[tuple[str, str]]:
    """The user's messages as (title of the session, content), in the order in which they were sent."""
    said = Message.objects.filter(user__username=username, role="user").order_by("session__created_at", "position")
    return list(said.values_list("session__title", "content"))


@pytest.fixture
def diary(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "diary")


def test_everybody_becomes_an_account_with_sessions_in_order_of_time(diary: Path) -> None:
    output = replay(diary)
    assert list_sent("diary-lin") == [
        ("2024-03-01", "你好，我叫林小雨。"),
        ("2024-03-02", "我最喜欢的颜色是绿色"),
        ("2024-03-02", "今天天气不错"),
    ]
    assert list_sent("diary-ann") == [("2024-03-02", "My favorite color is red.")]
    assert User.objects.count() == 2
    assert Message.objects.filter(role="assistant").count() == 4
    assert not Message.objects.filter(content="绿色很好看。").exists()
    assert "lin 2024-03-02: 2 messages\n" in output
    assert "Messages: 4 answered in 3 new sessions, 0 answered before, 0 failed.\n" in output
    assert "turns/s" in output
    assert not User.objects.get(username="diary-lin").has_usable_password()


def test_messages_carry_the_time_they_were_said_and_the_model_is_told_it(diary: Path, model: ScriptedModel) -> None:
    replay(diary)
    first = Message.objects.get(content="你好，我叫林小雨。")
    assert first.create_time == datetime(2024, 3, 1, 8, tzinfo=UTC)
    assert first.status == "complete"
    assert Message.objects.get(reply_to=first).create_time > first.create_time
    assert "2024-03-01T08:00" in model.chat_requests[0].blocks


@pytest.mark.spec("C6")
def test_an_old_message_is_not_taken_for_abandoned_while_it_is_answered(diary: Path, model: ScriptedModel) -> None:
    """Its lease counts from now: the sweep that runs beside a replay must leave it alone."""

    def sweep() -> int:
        try:
            return fail_abandoned_rounds(now=timezone.now())
        finally:
            connections.close_all()

    swept = []

    def sweep_and_answer(request: RecordedRequest) -> str:
        swept.append(pool.submit(sweep).result())  # not in the model server's own thread: it runs an event loop
        return answer()

    model.default = sweep_and_answer
    with ThreadPoolExecutor(max_workers=1) as pool:
        assert "4 answered in 3 new sessions, 0 answered before, 0 failed" in replay(diary)
    assert swept == [0, 0, 0, 0]


@pytest.mark.spec("C6")
def test_a_failed_turn_is_reported_and_taken_up_by_the_next_run(diary: Path, model: ScriptedModel) -> None:
    model.script(answer(), refuse_with(401), answer())
    output = StringIO()
    with pytest.raises(CommandError, match=r"^1 turns failed\. Run the command again to retry them\.$") as caught:
        call_command("replay", str(diary), stdout=output, stderr=output)
    assert caught.value.returncode == 1
    assert f"{diary}/corpus.jsonl:1: " in output.getvalue()
    assert "Messages: 3 answered in 3 new sessions, 0 answered before, 1 failed.\n" in output.getvalue()
    failed = Message.objects.get(status="failed")
    assert failed.content == "我最喜欢的颜色是绿色"
    assert "Messages: 1 answered in 0 new sessions, 3 answered before, 0 failed.\n" in replay(diary)
    failed.refresh_from_db()
    assert (failed.status, failed.attempt, failed.position) == ("complete", 2, 1)
    assert Message.objects.filter(role="user").count() == 4


def test_ctrl_c_lets_the_turn_under_way_finish_and_the_next_run_goes_on(diary: Path, model: ScriptedModel) -> None:
    def interrupt(request: RecordedRequest) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        return answer("好的")

    model.default = interrupt
    with pytest.raises(CommandError, match=r"Stopped\. Run the command again to continue\.") as caught:
        replay(diary)
    assert caught.value.returncode == 130
    assert list(Message.objects.order_by("position").values_list("role", "status")) == [
        ("user", "complete"),
        ("assistant", "complete"),
    ]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    model.reset()
    assert "Messages: 3 answered in 2 new sessions, 1 answered before, 0 failed.\n" in replay(diary)


def test_everybody_can_go_into_one_account_and_no_other_gets_anything(diary: Path) -> None:
    mine, other = User.objects.create_user("mine"), User.objects.create_user("other")
    replay(diary, user="mine")
    titles = Session.objects.filter(user=mine).values_list("title", flat=True)
    assert sorted(titles) == ["ann 2024-03-02", "lin 2024-03-01", "lin 2024-03-02"]
    assert Message.objects.filter(user=other).count() + LongTermMemory.objects.filter(user=other).count() == 0
    with pytest.raises(CommandError, match=r"There is no user named 'nobody'\."):
        replay(diary, user="nobody")
    assert User.objects.count() == 2


@pytest.mark.parametrize(
    ("name", "rows", "reason"),
    [
        ("diary", [*DIARY, ("x", "lin", "2024-03-03", "user", "长" * 32_001)], r"corpus\.jsonl:6: text has 32001 char"),
        ("diary", [*DIARY, ("x" * 250, "lin", "2024-03-03", "user", "hi")], r"corpus\.jsonl:6: _id and the folder"),
        ("diary", [*DIARY, ("x", "no name", "2024-03-03", "user", "hi")], "'diary-no name' is not a valid username"),
        ("facts", [("x", "lin", "2024-03-03", "memory", "Lin likes tea")], "facts: holds no messages of role user"),
    ],
)
def test_a_folder_that_cannot_be_used_changes_nothing(tmp_path: Path, name: str, rows: list[Said], reason: str) -> None:
    with pytest.raises(CommandError, match=reason):
        replay(write_folder(tmp_path / name, rows))
    assert (User.objects.count(), Session.objects.count(), Message.objects.count()) == (0, 0, 0)
