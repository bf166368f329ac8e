"""`jiyi ask`: the reply streams to stdout and nothing else does; the last session is continued."""

from __future__ import annotations

from pathlib import Path

import pytest

from apps.conversations.models import Message, Session
from jiyi import Jiyi as Client
from tests.client.cli.conftest import Jiyi
from tests.support.answers import answer
from tests.support.scripted_model import Reply, ScriptedModel, refuse_with

pytestmark = pytest.mark.long_except(
    "test_the_reply_is_all_of_stdout", "test_a_reply_cannot_steer_the_terminal", "test_a_model_that_refuses"
)


def test_the_reply_is_all_of_stdout(jiyi: Jiyi, model: ScriptedModel):
    model.script(answer("你好，Alice。\nHow are you?"))
    done = jiyi("ask", "Hello", "there")
    assert (done.code, done.out, done.err) == (0, "你好，Alice。\nHow are you?\n", "")
    assert Message.objects.get(role="user").content == "Hello there"


def test_the_last_session_is_continued(jiyi: Jiyi, model: ScriptedModel, home: Path):
    for arguments in (["one"], ["two"], ["--new", "three"], ["four"], ["--temporary", "five"], ["six"]):
        assert jiyi("ask", *arguments).code == 0
    first, second, temporary = Session.objects.order_by("created_at")
    said = {
        session: [message.content for message in session.messages.filter(role="user").order_by("create_time")]
        for session in (first, second, temporary)
    }
    assert said == {first: ["one", "two"], second: ["three", "four", "six"], temporary: ["five"]}
    assert temporary.temporary
    assert (home / ".local/state/jiyi/sessions.json").stat().st_mode & 0o777 == 0o600

    assert jiyi("ask", "--session", str(first.id), "seven").code == 0
    assert jiyi("ask", "eight").code == 0
    assert first.messages.filter(role="user").count() == 4


def test_a_session_that_was_deleted_is_not_continued(jiyi: Jiyi, model: ScriptedModel, client: Client):
    jiyi("ask", "one")
    client.sessions.delete(str(Session.objects.get().id))
    done = jiyi("ask", "two")
    assert done.code == 0
    assert "starting a new one" in done.err
    assert Message.objects.get(role="user").content == "two"


def test_the_message_can_be_piped(jiyi: Jiyi, model: ScriptedModel):
    assert jiyi("ask", piped="first line\nsecond line\n").code == 0
    assert jiyi("ask", "-", piped="third").code == 0
    assert [message.content for message in Message.objects.filter(role="user").order_by("create_time")] == [
        "first line\nsecond line\n",
        "third",
    ]
    assert jiyi("ask", piped=" \n").code == 2
    assert jiyi("ask", typed="").code == 2


def test_why_shows_what_was_recalled_beside_the_reply(jiyi: Jiyi, model: ScriptedModel, client: Client):
    client.long_term.create(category="preference", key="喜欢的颜色", value="蓝色")
    model.script(answer("蓝色。"))
    done = jiyi("ask", "--why", "我喜欢的颜色是什么")
    assert done.out == "蓝色。\n"
    assert "喜欢的颜色: 蓝色" in done.err
    assert "long-term" in done.err
    model.script(answer("Fine."))
    assert "No memory was recalled." in jiyi("ask", "--why", "--temporary", "How are you?").err


def test_json_is_the_whole_turn(jiyi: Jiyi, model: ScriptedModel):
    model.script(answer("记住了。", entries=[{"category": "fact", "key": "home", "value": "York"}]))
    done = jiyi("ask", "--json", "I live in York")
    assert done.json["assistant_message"]["content"] == "记住了。"
    assert done.json["memory_updates"][0]["value"] == "York"
    assert done.err == ""


def test_a_reply_cannot_steer_the_terminal(jiyi: Jiyi, model: ScriptedModel):
    model.script(answer("\x1b[2Jgone\x07\u009b1m\ttab"))
    assert jiyi("ask", "Hello").out == "\ufffd[2Jgone\ufffd\ufffd1m\ttab\n"


def test_a_model_that_failed_can_be_asked_again(jiyi: Jiyi, model: ScriptedModel):
    half = answer("这是一段很长的回答，会在中间断掉。")
    model.script(Reply((half[: half.index("会在")],), finish_reason=None, cut="fin"))
    done = jiyi("ask", "Hello")
    message = Message.objects.get()
    assert done.code == 5
    assert done.out == "这是一段很长的回答，\n"
    assert f"jiyi ask --retry {message.id}" in done.err
    model.script(answer("Here I am."))
    assert jiyi("ask", "--retry", str(message.id)).out == "Here I am.\n"
    assert jiyi("ask", "--retry", str(message.id)).code == 1
    assert jiyi("ask", "--retry", str(message.id), "more").code == 2


def test_a_model_that_refuses(jiyi: Jiyi, model: ScriptedModel):
    model.default = lambda _request: refuse_with(401)
    done = jiyi("ask", "--json", "Hello")
    assert (done.code, done.out) == (5, "")
    assert done.err.startswith("Error: ")
