"""A disk that is full, as PostgreSQL itself says it: 503 in the shape of each door, and afterwards everything goes on.

A real disk is filled in tests/embedded/test_full_disk.py.
"""

from __future__ import annotations

import tempfile
from typing import Any

import httpx2
import pytest
from django.test import Client

from apps.accounts.models import User
from apps.accounts.services.people import create_token
from apps.chat.turn import run
from apps.conversations.models import Message
from apps.memory.models import AtomicMemory, LongTermMemory
from tests.support.answers import answer
from tests.support.full_disk import full_disk
from tests.support.http_server import ApiClient, HttpServer
from tests.support.mcp import McpCaller
from tests.support.scripted_model import MODEL, Reply, ScriptedModel

pytestmark = pytest.mark.long
WHOLE = answer("好的，我记住了。")


def assert_full(response: Any) -> dict[str, Any]:
    """The response is a 503 that says so in the API's shape; return the error's fields."""
    assert response.status_code == 503
    assert response.headers["Retry-After"] == "60"
    error = response.json()["error"]
    assert error["code"] == "storage_full"
    fields: dict[str, Any] = error["fields"]
    return fields


@pytest.mark.spec("C6")
def test_a_message_that_cannot_be_stored_is_refused_whole(alice: ApiClient, model: ScriptedModel) -> None:
    session = alice.new_session()
    model.script(Reply((WHOLE,)))
    with full_disk(Message._meta.db_table):
        assert assert_full(alice.say(session, "我喜欢爬山")) == {}
    assert not Message.objects.exists()
    assert alice.say(session, "我喜欢爬山").status_code == 201


@pytest.mark.spec("C6")
@pytest.mark.parametrize("stream", [False, True])
def test_a_reply_that_cannot_be_stored_leaves_its_message_to_be_retried(
    alice: ApiClient, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    monkeypatch.setattr(run, "STORE_ATTEMPTS", 1)
    session = alice.new_session()
    model.script(Reply((WHOLE,)), Reply((WHOLE,)))
    with full_disk(Message._meta.db_table, when="NEW.role = 'assistant' AND NEW.content <> ''"):
        if stream:
            *_, last = alice.say_streaming(session, "我喜欢爬山")
            assert (last.name, last.data["error"]["code"]) == ("error", "storage_full")
            message_id = last.data["error"]["fields"]["message_id"]
        else:
            message_id = alice.say(session, "我喜欢爬山").json()["error"]["fields"]["message_id"]
    assert [(str(one.id), one.status) for one in Message.objects.filter(role="user")] == [(message_id, "failed")]
    retried = alice.post(f"/chat/messages/{message_id}/retry", json={})
    assert retried.status_code in (200, 201)
    assert retried.json()["assistant_message"]["content"] == "好的，我记住了。"


def test_every_other_door_says_it_in_its_own_shape(alice: ApiClient, model: ScriptedModel) -> None:
    caller = McpCaller(token=create_token(user=alice.user))
    with full_disk(Message._meta.db_table):
        body = {"model": MODEL, "messages": [{"role": "user", "content": "我喜欢爬山"}]}
        refused = alice.post("/v1/chat/completions", json=body)
        assert refused.status_code == 503
        assert refused.json()["error"]["code"] == "storage_full"
        assert refused.json()["error"]["type"] == "server_error"
    with full_disk(LongTermMemory._meta.db_table):
        memory = {"category": "fact", "key": "city", "value": "杭州"}
        assert_full(alice.post("/memory/long-term", json=memory))
    with full_disk(AtomicMemory._meta.db_table):
        assert "no space left" in caller.fail("add_memory", content="Mei plays the cello.")
    assert not LongTermMemory.objects.exists()
    assert alice.post("/memory/long-term", json=memory).status_code == 201


@pytest.mark.django_db(transaction=True)
def test_people_get_a_page_where_a_session_cannot_be_saved() -> None:
    User.objects.create_user("mei", password="correct horse battery staple")
    browser = Client(raise_request_exception=False)
    form = {"username": "mei", "password": "correct horse battery staple"}
    with full_disk("django_session"):
        response = browser.post("/login", form)
        assert response.status_code == 503
        assert response["Content-Type"].startswith("text/html")
        assert "No space left" in response.content.decode()
    assert browser.post("/login", form).status_code == 302


def test_a_body_that_cannot_be_kept_is_answered_too(
    alice: ApiClient, http_server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long one goes to a temporary file, before there is a request: uvicorn would answer it by itself."""
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda *_args, **_options: open("/dev/full", "w+b"))  # noqa: SIM115
    long = b'{"content": "' + b"x" * 4_000_000 + b'"}'
    assert_full(alice.post(f"/chat/sessions/{alice.user.pk}/messages", content=long))
    page = httpx2.post(f"{http_server.url}/login", content=long)
    assert page.status_code == 503
    assert "No space left" in page.text
    assert alice.get("/memory/settings").status_code == 200
