"""Chat completions as the events of a response. Pure."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from apps.doors.openai.responses_answer import ResponseBuilder

KEY = uuid.UUID("b7d6f1a0-5c3e-4f0e-9c2d-8a1f6e5b4c3d")
USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}


def make() -> ResponseBuilder:
    return ResponseBuilder(key=KEY, created=1, model="m", echo={"metadata": {}})


def chunk(**delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def run(builder: ResponseBuilder, *events: Any, usage: Any = USAGE) -> list[dict[str, Any]]:
    made = list(builder.begin())
    for event in events:
        made += builder.add_chat(event)
    return [*made, *builder.finish(usage=usage)]


def test_text_and_calls_are_items_in_the_order_in_which_they_come():
    events = run(
        make(),
        chunk(role="assistant", content=""),
        chunk(content="Let me "),
        chunk(content="see."),
        chunk(tool_calls=[{"index": 0, "id": "c1", "function": {"name": "f", "arguments": '{"a"'}}]),
        chunk(tool_calls=[{"index": 0, "function": {"arguments": ": 1}"}}]),
        chunk(tool_calls=[{"index": 1, "id": "c2", "function": {"name": "g", "arguments": "{}"}}]),
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
        {"choices": [], "usage": {**USAGE, "prompt_tokens_details": {"cached_tokens": 1}}},
    )
    assert [(event["type"].removeprefix("response."), event.get("output_index")) for event in events] == [
        ("created", None),
        ("in_progress", None),
        ("output_item.added", 0),
        ("content_part.added", 0),
        ("output_text.delta", 0),
        ("output_text.delta", 0),
        ("output_item.added", 1),
        ("function_call_arguments.delta", 1),
        ("function_call_arguments.delta", 1),
        ("output_item.added", 2),
        ("function_call_arguments.delta", 2),
        ("output_text.done", 0),
        ("content_part.done", 0),
        ("output_item.done", 0),
        ("function_call_arguments.done", 1),
        ("output_item.done", 1),
        ("function_call_arguments.done", 2),
        ("output_item.done", 2),
        ("completed", None),
    ]
    response = events[-1]["response"]
    assert [item["type"] for item in response["output"]] == ["message", "function_call", "function_call"]
    assert response["output"] == [event["item"] for event in events if event["type"].endswith("item.done")]
    assert response["output"][1]["arguments"] == '{"a": 1}'
    assert response["usage"] == {
        "input_tokens": 1, "input_tokens_details": {"cached_tokens": 1}, "output_tokens": 2,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 3,
    }  # fmt: skip


@pytest.mark.parametrize("arguments", ['{"a": 1}', {"a": 1}])
def test_calls_of_a_whole_completion_may_lack_index_and_id_and_be_parsed(arguments: Any):
    builder = make()
    calls = [{"function": {"name": "f", "arguments": arguments}}, {"function": {"name": "g", "arguments": "{}"}}]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    events = run(builder, {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]})
    first, second = events[-1]["response"]["output"]
    assert (first["name"], first["arguments"], second["name"]) == ("f", '{"a": 1}', "g")
    assert first["call_id"] != second["call_id"]
    assert [call["id"] for call in builder.message["tool_calls"]] == [first["call_id"], second["call_id"]]


def test_a_refusal_is_a_part_of_its_own():
    events = run(make(), chunk(refusal="I will "), chunk(refusal="not."))
    assert [event["type"] for event in events if "refusal" in event["type"]] == [
        "response.refusal.delta", "response.refusal.delta", "response.refusal.done",
    ]  # fmt: skip
    (message,) = events[-1]["response"]["output"]
    assert message["content"] == [{"type": "refusal", "refusal": "I will not."}]


@pytest.mark.parametrize(
    ("finish", "status", "reason"),
    [
        ("stop", "completed", None),
        ("length", "incomplete", "max_output_tokens"),
        ("content_filter", "incomplete", "content_filter"),
    ],
)
def test_why_it_ended_is_told(finish: str, status: str, reason: str | None):
    builder = make()
    builder.finish_reason = finish
    *_rest, item, last = run(builder, chunk(content="Hi"))
    assert (last["type"], item["item"]["status"]) == (f"response.{status}", status)
    assert last["response"]["incomplete_details"] == (reason and {"reason": reason})


def test_what_is_no_choice_is_passed_over():
    odd: list[Any] = [{"choices": None}, {"choices": ["x", {"index": 1, "delta": {"content": "other"}}]}, {}]
    odd += [chunk(content=7), chunk(tool_calls=["x"]), {"usage": {"prompt_tokens": "many"}}]
    response = run(make(), *odd)[-1]["response"]
    assert response["output"][0]["content"][0]["text"] == ""
    assert response["usage"]["total_tokens"] == 0


def test_a_failure_is_told_twice_with_what_there_is():
    builder = make()
    events = [*builder.begin(), *builder.add_text("Hal")]
    error, failed = builder.fail({"message": "Gone.", "type": "server_error", "param": None, "code": None})
    assert error["error"]["message"] == error["message"] == "Gone."
    assert (error["code"], error["sequence_number"]) == ("server_error", len(events))
    assert failed["response"]["status"] == "failed"
    assert failed["response"]["output"][0]["status"] == "incomplete"
