"""Turns and background work leave what their calls of models took (Q1)."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from apps.accounts.types import ALL_SCOPES
from apps.conversations.worker import claim_rounds, claim_session, drain
from apps.core.llm.client import get_embedder
from apps.costs.budgets import Price, save_prices
from apps.costs.models import ModelCall
from apps.doors.mcp.server import Access, _call_tool
from apps.extraction import tasks
from tests.support.answers import answer
from tests.support.http_server import ApiClient
from tests.support.processes import wait_until
from tests.support.scripted_model import Gate, Reply, ScriptedModel, refuse_with

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spec("Q1")]

USAGE = {"prompt_tokens": 120, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 100}}
FIGURES = ("job", "model", "tokens_in", "tokens_out", "tokens_cached", "estimated")


def list_calls(client: ApiClient) -> list[tuple[Any, ...]]:
    return list(ModelCall.objects.filter(user=client.user).order_by("created_at").values_list(*FIGURES))


def test_a_reply_and_the_work_after_it(alice: ApiClient, model: ScriptedModel):
    model.script(Reply((answer("好"),), usage=USAGE))
    alice.say(alice.new_session(), "我住在上海").raise_for_status()
    assert list_calls(alice) == [("reply", "scripted", 120, 7, 100, False)]
    model.script(Reply((json.dumps({"memories": []}),), usage={"prompt_tokens": 300, "completion_tokens": 4}))
    drain(kind="extract", token="a", claim=claim_rounds, job=tasks.extract_memories)
    assert list_calls(alice)[1:] == [("extraction", "scripted", 300, 4, 0, False)]
    model.script("no JSON")  # a failure costs as much
    drain(kind="summarize", token="b", claim=claim_session, job=tasks.summarize_session)
    assert [call[0] for call in list_calls(alice)[2:]] == ["summary"]


def test_what_is_not_stored_and_what_fails_is_counted_too(alice: ApiClient, model: ScriptedModel):
    body = {"messages": [{"role": "user", "content": "你好"}], "store": False}
    model.script(Reply((answer("好"),), usage=USAGE))
    alice.post("/v1/chat/completions", json=body).raise_for_status()
    model.script(Reply(("",), usage=USAGE))
    assert alice.say(alice.new_session(), "你好").status_code == 503
    model.script(refuse_with(401))
    assert alice.say(alice.new_session(), "你好").status_code == 503
    assert list_calls(alice) == [("reply", "scripted", 120, 7, 100, False)] * 2


@pytest.mark.parametrize("stream", [True, False])
def test_a_request_that_is_no_conversation(alice: ApiClient, model: ScriptedModel, stream: bool):
    model.script(Reply(("标题",), usage=USAGE))
    body = {"messages": [{"role": "user", "content": "x"}], "stream": stream}
    alice.post("/v1/chat/completions", json=body, headers={"X-Task": "title_generation"}).raise_for_status()
    assert list_calls(alice) == [("reply", "scripted", 120, 7, 100, False)]


def test_what_a_search_embeds(alice: ApiClient, scripted_model: ScriptedModel, settings: Any):
    settings.EMBEDDING_MODEL, settings.EMBEDDING_BASE_URL = "remote", scripted_model.base_url
    alice.post("/v1/embeddings", json={"model": "remote", "input": "你好" * 10}).raise_for_status()
    assert list_calls(alice) == [("embedding", "remote", 20, 0, 0, True)]


def test_what_a_tool_of_an_agent_embeds(alice: ApiClient, scripted_model: ScriptedModel, settings: Any):
    settings.EMBEDDING_MODEL, settings.EMBEDDING_BASE_URL = "remote", scripted_model.base_url
    alice.post("/memory/atomic", json={"content": "我住在上海"}).raise_for_status()
    get_embedder("remote").embed(["."])  # what takes time the first time must not make the query's answer late
    # As on stdin and stdout, where no request surrounds it.
    _call_tool(Access(alice.user, ALL_SCOPES, "agent"), "search_memories", {"keyword": "你好" * 10})
    assert [call[:2] for call in list_calls(alice)] == [("embedding", "remote")]


def test_a_client_that_hangs_up_has_its_call_counted(alice: ApiClient, model: ScriptedModel):
    gate = Gate()
    model.script(Reply(("标题" * 8, gate, "没有人看"), usage=USAGE))
    body = {"messages": [{"role": "user", "content": "x"}], "stream": True}
    headers = {"X-Task": "title_generation"}
    with alice.stream("POST", "/v1/chat/completions", json=body, headers=headers) as response:
        next(response.iter_lines())
    wait_until(lambda: list_calls(alice))
    gate.open()
    assert [(call[0], call[-1]) for call in list_calls(alice)] == [("reply", True)]


def test_a_person_asks_what_models_cost(alice: ApiClient, bob: ApiClient, model: ScriptedModel):
    model.script(Reply((answer("好"),), usage=USAGE))
    alice.say(alice.new_session(), "你好").raise_for_status()
    save_prices(currency="¥", prices={"scripted": Price(input=Decimal(1000), output=Decimal(0))})
    told = alice.get("/memory/costs?days=1").raise_for_status().json()
    [one] = told["sums"]
    assert (one["job"], one["tokens_in"], one["cost"], one["estimated_calls"]) == ("reply", 120, 0.12, 0)
    assert (told["currency"], told["reply_cost"], told["memory_cost"]) == ("¥", 0.12, 0)
    assert told["budget"] == {"amount": None, "spent": 0.12, "paused": False}
    assert bob.get("/memory/costs").json()["sums"] == []
    assert alice.get("/memory/costs?days=0").status_code == 400
