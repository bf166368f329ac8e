"""Adapters of other libraries against a server that does not answer: the application goes on, and nothing is lost."""

from __future__ import annotations

import asyncio
import importlib
import json
import socket
import sys
import time
import types
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from jiyi import AsyncJiyi, Jiyi
from jiyi.errors import JiyiError, Unauthenticated
from jiyi.integrations import _recall
from jiyi.integrations._recall import Recorder, recall, recall_async
from tests.client.scripted_server import SESSION, Answer, ScriptedServer, refuse

PASSING = [Answer(0), refuse(503, "unavailable"), refuse(500, "error"), refuse(429, "throttled")]


def record(client: Jiyi, *, turn: Any = (), key: str | None = None) -> int:
    return client.sessions.record(SESSION["id"], list(turn), idempotency_key=key)


@pytest.fixture
def silent() -> Iterator[str]:
    """The URL of a server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_recall, "WAIT_SECONDS", 0.1)


def test_nothing_is_recalled_from_a_silent_server(silent: str) -> None:
    started = time.monotonic()
    with Jiyi(silent, "token") as client:  # its own patience: 30 s, four times
        assert recall(client, "Where do I live?", limit=5) == []

    async def ask() -> list[Any]:
        async with AsyncJiyi(silent, "token") as client:
            return await recall_async(client, "Where do I live?", limit=5)

    assert asyncio.run(ask()) == []
    assert time.monotonic() - started < 20


@pytest.mark.parametrize("answer", PASSING)
def test_what_passes_costs_the_memories_only(scripted_server: ScriptedServer, answer: Answer) -> None:
    scripted_server.script(answer)
    with Jiyi(scripted_server.url, "token") as client:
        assert recall(client, "Where do I live?", limit=5) == []
    assert len(scripted_server.seen) == 1, "it is not tried again"


def test_a_wrong_token_is_said_aloud(scripted_server: ScriptedServer) -> None:
    scripted_server.script(refuse(401, "unauthenticated"))
    with Jiyi(scripted_server.url, "token") as client, pytest.raises(Unauthenticated):
        recall(client, "Where do I live?", limit=5)


@pytest.mark.parametrize("answer", PASSING)
def test_what_is_not_recorded_waits_and_keeps_its_order(scripted_server: ScriptedServer, answer: Answer) -> None:
    recorder = Recorder()
    with Jiyi(scripted_server.url, "token") as client:
        scripted_server.script(answer, answer, *[Answer(202, {"stored": 1})] * 3)
        for text in ("one", "two", "three"):
            turn = [{"role": "user", "content": text}]
            recorder.record(client, partial(record, turn=turn, key=f"key-{text}"))
    texts = [json.loads(seen.body)["messages"][0]["content"] for seen in scripted_server.seen]
    assert texts == ["one", "one", "one", "two", "three"]
    keys = [seen.headers.get("Idempotency-Key") or seen.headers.get("idempotency-key") for seen in scripted_server.seen]
    assert keys == ["key-one", "key-one", "key-one", "key-two", "key-three"]


def test_what_the_server_refuses_does_not_hold_up_the_rest(scripted_server: ScriptedServer) -> None:
    recorder = Recorder()
    with Jiyi(scripted_server.url, "token") as client:
        scripted_server.script(refuse(400, "invalid"), Answer(202, {"stored": 1}))
        with pytest.raises(JiyiError):
            recorder.record(client, record)
        recorder.record(client, record)
    assert len(scripted_server.seen) == 2


@pytest.fixture
def hermes(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The adapter's module, with a stand-in for what Hermes has."""
    agent, provider = types.ModuleType("agent"), types.ModuleType("agent.memory_provider")
    provider.MemoryProvider = object  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "agent", agent)
    monkeypatch.setitem(sys.modules, "agent.memory_provider", provider)
    monkeypatch.delitem(sys.modules, "jiyi.integrations.hermes", raising=False)
    module = importlib.import_module("jiyi.integrations.hermes")
    monkeypatch.setattr(module, "WAIT_SECONDS", 0.1)
    monkeypatch.setattr(module, "RECALL_SECONDS", 0.1)
    yield module
    sys.modules.pop("jiyi.integrations.hermes", None)


def start(hermes: Any, url: str, home: Path, monkeypatch: pytest.MonkeyPatch, **given: Any) -> Any:
    monkeypatch.setenv("JIYI_URL", url)
    monkeypatch.setenv("JIYI_TOKEN", "token")
    provider = hermes.JiyiMemoryProvider()
    provider.initialize("s1", hermes_home=str(home), **given)
    return provider


@pytest.mark.long
def test_hermes_goes_on_and_its_turns_are_kept_until_the_server_answers(
    hermes: Any, silent: str, scripted_server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = start(hermes, silent, tmp_path, monkeypatch)
    started = time.monotonic()
    assert provider.prefetch("Where do I live?") == ""
    provider.sync_turn("I live in Leeds.", "Noted.")
    provider.sync_turn("I have a cat.", "Nice.")
    assert "error" in json.loads(provider.handle_tool_call("jiyi_search", {"query": "cat"}))
    provider.on_memory_write("add", "user", "The user has a cat.")
    assert time.monotonic() - started < 20
    provider.shutdown()

    # Another process, later.
    provider = start(hermes, scripted_server.url, tmp_path, monkeypatch)
    scripted_server.script(Answer(201, SESSION), *[Answer(202, {"stored": 2})] * 3)
    provider.sync_turn("My dog is Rex.", "Hello Rex.")
    provider.shutdown()
    texts = [json.loads(seen.body)["messages"][0]["content"] for seen in scripted_server.seen[1:]]
    assert texts == ["I live in Leeds.", "I have a cat.", "My dog is Rex."]
    assert not (tmp_path / "jiyi" / "unrecorded.json").exists()


def test_a_kept_turn_is_recorded_for_nobody_else(
    hermes: Any, silent: str, scripted_server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = start(hermes, silent, tmp_path, monkeypatch, user_id="mel", platform="chat")
    provider.sync_turn("I live in Leeds.", "Noted.")
    provider.shutdown()

    provider = start(hermes, scripted_server.url, tmp_path, monkeypatch, user_id="ann", platform="chat")
    scripted_server.script(Answer(201, SESSION), Answer(202, {"stored": 2}))
    provider.sync_turn("I live in York.", "Noted.")
    provider.shutdown()
    assert [json.loads(seen.body)["messages"][0]["content"] for seen in scripted_server.seen[1:]] == ["I live in York."]
    assert "Leeds" in (tmp_path / "jiyi" / "unrecorded.json").read_text("utf-8")
