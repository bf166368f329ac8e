"""What calls of models are counted as taking."""

from __future__ import annotations

from typing import Any

import pytest

from apps.core.llm.metering import ModelCall, Usage, collect_calls, read_usage
from apps.core.llm.openai import OpenAIChatModel
from apps.core.llm.relaying import relay
from apps.core.llm.types import ModelRequest, PromptMessage, ToolSpec
from tests.support.scripted_model import Json, Reply, ScriptedModel, call, call_tools, refuse_with

pytestmark = pytest.mark.spec("Q1")

REQUEST = ModelRequest(messages=(PromptMessage("user", "你好" * 50),), job="summary")
USAGE = {"prompt_tokens": 120, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 100}}


async def ask(model: ScriptedModel, request: ModelRequest = REQUEST, **options: Any) -> list[ModelCall]:
    client = OpenAIChatModel(base_url=model.base_url, model="scripted", called="Here/scripted", **options)
    with collect_calls() as calls:
        async for _piece in client.converse(request):
            pass
    return calls


@pytest.mark.parametrize("streamed", [True, False])
async def test_what_the_server_counts_is_taken(scripted_model: ScriptedModel, streamed: bool):
    scripted_model.script(Reply(("好",), usage=USAGE, streamed=streamed))
    [one] = await ask(scripted_model)
    assert (one.job, one.model, one.usage, one.estimated) == ("summary", "Here/scripted", Usage(120, 7, 100), False)
    assert scripted_model.chat_requests[0].body["stream_options"] == {"include_usage": True}


async def test_where_the_server_says_nothing_it_is_estimated_and_marked(scripted_model: ScriptedModel):
    scripted_model.script(Reply(("好" * 8,)))
    [one] = await ask(scripted_model)
    assert (one.usage, one.estimated) == (Usage(100, 8), True)


async def test_an_answer_that_calls_tools_is_a_tool_round(scripted_model: ScriptedModel):
    scripted_model.script(call_tools(call("search", {})))
    tools = (ToolSpec("search", "Search.", {"type": "object"}),)
    [one] = await ask(scripted_model, ModelRequest(messages=REQUEST.messages, tools=tools))
    assert one.job == "tool_round"


async def test_a_refusal_of_the_question_is_answered_by_not_asking_it_again(scripted_model: ScriptedModel):
    scripted_model.script(refuse_with(422, "body.stream_options: extra fields not permitted"), "好", "好")
    client = OpenAIChatModel(base_url=scripted_model.base_url, model="scripted")
    with collect_calls() as calls:
        assert [await client.complete(REQUEST), await client.complete(REQUEST)] == ["好", "好"]
    assert [one.estimated for one in calls] == [True, True]
    assert ["stream_options" in request.body for request in scripted_model.chat_requests] == [True, False, False]


async def test_what_failed_before_an_answer_costs_nothing_and_what_was_cut_costs(scripted_model: ScriptedModel):
    from apps.core.errors import ModelUnavailable

    scripted_model.script(refuse_with(401), Reply(("半",), finish_reason=None, cut="fin"))
    for count in (0, 1):
        client = OpenAIChatModel(base_url=scripted_model.base_url, model="scripted")
        with collect_calls() as calls, pytest.raises(ModelUnavailable):
            await client.complete(REQUEST)
        assert len(calls) == count


@pytest.mark.parametrize("stream", [True, False])
async def test_a_relayed_request_is_counted(scripted_model: ScriptedModel, stream: bool):
    scripted_model.script(Reply(("好",), usage=USAGE))
    client = OpenAIChatModel(base_url=scripted_model.base_url, model="scripted")
    with collect_calls() as calls:
        body = {"messages": [{"role": "user", "content": "你好"}], "stream": stream}
        assert [event async for event in relay(client, body)]
    assert [(one.job, one.usage) for one in calls] == [("reply", Usage(120, 7, 100))]


@pytest.mark.parametrize(
    ("told", "usage"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 4}, Usage(9, 2, 4)),
        ({"prompt_tokens": 9, "completion_tokens": 2, "cached_tokens": 30}, Usage(9, 2, 9)),
        ({"prompt_tokens": 9, "total_tokens": 9}, Usage(9, 0)),
        ({"prompt_tokens": 9, "completion_tokens": -1, "prompt_tokens_details": 7}, Usage(9, 0)),
        ({"prompt_tokens": 9, "completion_tokens": None, "prompt_tokens_details": None}, Usage(9, 0)),
        ({"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 31}, Usage(9, 22)),  # with thoughts
        ({"prompt_tokens": 9, "completion_tokens": None, "total_tokens": 11}, Usage(9, 2)),
        ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, None),
        ({"prompt_tokens": None, "completion_tokens": 2}, None),
        ({"prompt_tokens": "many"}, None),
        ({"prompt_tokens": 10**30}, None),
        ({"prompt_tokens": True}, None),
        (None, None),
        ([], None),
    ],
)
def test_usage_in_the_forms_of_servers(told: Any, usage: Usage | None):
    assert read_usage({"usage": told}) == usage


def test_llama_cpp_tells_beside_the_usage_what_it_had_read_before():
    told = {"usage": {"prompt_tokens": 9, "completion_tokens": 2}, "timings": {"cache_n": 7, "prompt_n": 2}}
    assert read_usage(told) == Usage(9, 2, 7)


def test_an_embedding_is_counted(scripted_model: ScriptedModel):
    from apps.core.llm.embedding_openai import OpenAIEmbedder

    vectors = [{"index": 0, "embedding": [1.0, 0.0]}]
    scripted_model.script_embeddings(Json({"data": vectors, "usage": {"prompt_tokens": 5, "total_tokens": 5}}))
    with collect_calls() as calls:
        OpenAIEmbedder(model="Here/embedder", asks_for="e", base_url=scripted_model.base_url).embed(["你好"])
    assert [(one.job, one.model, one.usage) for one in calls] == [("embedding", "Here/embedder", Usage(5, 0))]
