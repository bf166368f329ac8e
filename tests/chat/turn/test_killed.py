"""The web process is killed in the middle of a turn: the message is kept, marked, and answered once (C6)."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest
from django.conf import settings

from apps.accounts.models import User
from apps.accounts.services.people import create_token
from apps.conversations.models import Message
from apps.memory.models import WorkingMemory
from tests.support.answers import answer
from tests.support.scripted_model import MODEL, Gate, Reply, ScriptedModel
from tests.support.workers import PROJECT, database_url

pytestmark = [pytest.mark.spec("C6"), pytest.mark.long, pytest.mark.django_db(transaction=True)]


@contextmanager
def web_process(*, model: ScriptedModel, lease_seconds: int) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The product's web process on a free port, with the scripted model behind it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        environment = {
            **os.environ,
            "DATABASE_URL": database_url(),
            "REDIS_URL": settings.REDIS_URL,
            "JIYI_DATA_DIR": str(settings.DATA_DIR),
            "OPENAI_BASE_URL": model.base_url,
            "CHAT_MODEL": MODEL,
            "TURN_LEASE_SECONDS": str(lease_seconds),
        }
        command = [sys.executable, "-m", "uvicorn", "project.asgi:application", "--fd", str(listener.fileno())]
        process = subprocess.Popen(command, cwd=PROJECT, env=environment, pass_fds=[listener.fileno()])
        try:
            yield process, f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            process.kill()
            process.wait()


def connect(url: str, user: User) -> httpx2.Client:
    """A client of that process that speaks for the user."""
    return httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {create_token(user=user)}"}, timeout=200)


def test_a_web_process_that_is_stopped_leaves_no_message_to_its_lease(scripted_model: ScriptedModel):
    user = User.objects.create_user("alice")
    gate = Gate()
    scripted_model.script(Reply((gate, answer("晚了"))))
    with web_process(model=scripted_model, lease_seconds=600) as (process, url), connect(url, user) as client:
        session = client.post("/chat/sessions", json={}).raise_for_status().json()["id"]
        body = {"content": "你好", "stream": True}
        with client.stream("POST", f"/chat/sessions/{session}/messages", json=body):
            gate.wait_reached()
        process.terminate()
        process.wait(timeout=200)
    gate.open()
    assert list(Message.objects.values_list("status", flat=True)) == ["failed"]


@pytest.mark.parametrize("stream", [True, False])
def test_the_successor_fails_what_a_killed_process_left_and_answers_at_once(
    scripted_model: ScriptedModel, stream: bool
):
    user = User.objects.create_user("alice")
    gate = Gate()
    scripted_model.script(Reply((gate,)), answer("这次答完了。"))
    body, headers = {"content": "你好", "stream": True}, {"Idempotency-Key": "k"}
    with web_process(model=scripted_model, lease_seconds=600) as (process, url), connect(url, user) as client:
        session = client.post("/chat/sessions", json={}).raise_for_status().json()["id"]
        with client.stream("POST", f"/chat/sessions/{session}/messages", json=body, headers=headers):
            gate.wait_reached()
            process.kill()
            process.wait()
    gate.open()
    with web_process(model=scripted_model, lease_seconds=600) as (_process, url), connect(url, user) as client:
        client.get("/livez").raise_for_status()
        body["stream"] = stream
        start = time.monotonic()
        repeated = client.post(f"/chat/sessions/{session}/messages", json=body, headers=headers)
        assert time.monotonic() - start < 2
        assert "model_unavailable" in repeated.text
        assert repeated.status_code == (200 if stream else 503)
        message = Message.objects.get()
        assert message.status == "failed"
        client.post(f"/chat/messages/{message.id}/retry", json={}).raise_for_status()
    assert list(Message.objects.order_by("position").values_list("content", flat=True)) == ["你好", "这次答完了。"]
    assert WorkingMemory.objects.get().turn_count == 1, "counted once"
