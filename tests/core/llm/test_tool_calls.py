"""Tool calls of an OpenAI-compatible server: put together from whatever it streams, and done without where refused."""

from __future__ import annotations

from typing import Any

import pytest

from apps.core.errors import ModelUnavailable
from apps.core.llm.openai import OpenAIChatModel, Retries
from apps.core.llm.types import ModelRequest, PromptMessage, ResponseFormat, ToolCall, ToolSpec
from apps.core.llm.wire import MAX_CALLS, CallAssembler
from tests.support.scripted_model import (
    Behaviour,
    Json,
    RecordedRequest,
    Reply,
    ScriptedModel,
    call,
    call_tools,
    refuse_with,
)

TOOL = ToolSpec("look", "Look something up.", {"type": "object", "properties": {"word": {"type": "string"}}})
FORMAT = ResponseFormat(name="turn", schema={"type": "object"})
REQUEST = ModelRequest(messages=(PromptMessage("user", "hi"),), response_format=FORMAT, tools=(TOOL,))


def assemble(*events: Any) -> list[ToolCall]:
    assembler = CallAssembler()
    for event in events:
        assembler.feed(event)
    return assembler.close()


def part(name: str | None = None, arguments: Any = None, **fields: Any) -> list[dict[str, Any]]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return [{**fields, "function": function}]


OPENAI = [
    part("look", "", index=0, id="a", type="function"),
    part(None, '{"wo', index=0),
    part(None, 'rd": 1}', index=0),
    part("see", "", index=1, id="b", type="function"),
    part(None, "{}", index=1),
]


@pytest.mark.parametrize(
    "events",
    [
        OPENAI,
        [part("look", '{"word": 1}', index=0, id="a"), part("see", "{}", index=0, id="b")],  # Ollama: all are number 0
        [part("look", '{"word": 1}', id="a") + part("see", "{}", id="b")],  # Gemini: no numbers
        [part("look", '{"word"', id="a"), part(None, ": 1}"), part("see", id="b"), part(None, "{}")],
        [
            part("look", '{"word"', id="a"),
            part(None, ": 1}", id="a"),
            part("see", "{}", id="b"),
        ],  # the ID in every piece
        [part("look", {"word": 1}, index=0, id="a"), part("see", {}, index=1, id="b")],  # arguments as objects
    ],
)
def test_pieces_become_calls_whatever_marks_they_have(events: list[Any]) -> None:
    assert [(one.id, one.name, one.arguments) for one in assemble(*events)] == [
        ("a", "look", '{"word": 1}'),
        ("b", "see", "{}"),
    ]


def test_calls_without_any_marks_are_told_by_their_names() -> None:
    found = assemble(part("look", '{"word"'), part(None, ": 1}"), part("see", "{}"))

    assert [(one.name, one.arguments) for one in found] == [("look", '{"word": 1}'), ("see", "{}")]
    assert len({one.id for one in found}) == 2


def test_calls_of_one_id_are_told_by_their_numbers_and_get_ids_of_their_own() -> None:
    found = assemble(part("look", "{}", index=0, id="x"), part("see", "{}", index=1, id="x"))

    assert [(one.id, one.name) for one in found] == [("x", "look"), ("call_1", "see")]


def test_fields_of_the_server_s_own_are_kept_even_in_a_piece_by_themselves() -> None:
    signed = {"google": {"thought_signature": "s"}}
    found = assemble(part("look", "{}", id="a"), [{"extra_content": signed}])

    assert found == [ToolCall("a", "look", "{}", extra={"extra_content": signed})]


def test_what_is_no_call_is_left_out_and_the_number_of_calls_is_bounded() -> None:
    assert assemble(None, "x", {"a": 1}, [None, 7, {}, {"function": "f"}]) == []
    many = assemble([*(part("look", "{}", index=at, id=str(at))[0] for at in range(MAX_CALLS + 5))])
    assert len(many) == MAX_CALLS


# The client


_made: list[OpenAIChatModel] = []  # kept to the end, as in test_openai.py


def make_model(server: ScriptedModel, *, retries: int = 0) -> OpenAIChatModel:
    _made.append(OpenAIChatModel(base_url=server.base_url, api_key="k", model="m", retries=Retries(count=retries)))
    return _made[-1]


async def converse(model: OpenAIChatModel, request: ModelRequest = REQUEST) -> tuple[str, list[ToolCall]]:
    parts = [part async for part in model.converse(request)]
    calls = [part for part in parts if isinstance(part, ToolCall)]
    return "".join(part for part in parts if isinstance(part, str)), calls


@pytest.mark.spec("T1")
@pytest.mark.parametrize("streamed", [True, False])
async def test_text_comes_first_then_the_calls(scripted_model: ScriptedModel, streamed: bool) -> None:
    calls = (call("look", {"word": "猫"}, id="a"), call("look", {"word": "b"}, id="b"))
    scripted_model.script(call_tools(*calls, text="Let me see.", streamed=streamed))

    text, found = await converse(make_model(scripted_model))

    assert text == "Let me see."
    assert found == [ToolCall("a", "look", '{"word": "猫"}'), ToolCall("b", "look", '{"word": "b"}')]
    (request,) = scripted_model.chat_requests
    assert request.body["tools"] == [
        {
            "type": "function",
            "function": {"name": "look", "description": TOOL.description, "parameters": TOOL.parameters},
        }
    ]
    assert request.response_format is not None


async def test_a_stream_that_ends_among_its_calls_is_a_drop(scripted_model: ScriptedModel) -> None:
    scripted_model.script(Reply((), finish_reason=None, cut="fin", calls=(call("look", {"word": "x"}),)))
    with pytest.raises(ModelUnavailable) as caught:
        await converse(make_model(scripted_model))
    assert caught.value.fields["reason"] == "dropped"


async def test_calls_nobody_asked_for_are_no_part_of_a_plain_answer(scripted_model: ScriptedModel) -> None:
    scripted_model.script(call_tools(call("look", {}), text="hi"))
    pieces = [piece async for piece in make_model(scripted_model).stream(REQUEST)]
    assert "".join(pieces) == "hi"
    assert scripted_model.chat_requests[0].tools == []


async def test_calls_and_results_go_back_in_openai_s_form(scripted_model: ScriptedModel) -> None:
    made = ToolCall("a", "look", '{"word": "x"}', extra={"extra_content": {"s": 1}})
    messages = (
        *REQUEST.messages,
        PromptMessage("assistant", "", calls=(made,)),
        PromptMessage("tool", "found", call_id="a"),
    )
    await converse(make_model(scripted_model), ModelRequest(messages=messages, tools=(TOOL,)))

    sent: list[Any] = scripted_model.chat_requests[0].messages
    assert sent[1] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "extra_content": {"s": 1},
                "id": "a",
                "type": "function",
                "function": {"name": "look", "arguments": '{"word": "x"}'},
            }
        ],
    }
    assert sent[2] == {"role": "tool", "content": "found", "tool_call_id": "a"}


def forms(server: ScriptedModel) -> list[tuple[str | None, bool]]:
    """How each request was put: its response format, and whether it offered tools."""
    return [((one.response_format or {}).get("type"), bool(one.tools)) for one in server.chat_requests]


def refuse(what: Any, answer: Json) -> Any:
    def respond(request: RecordedRequest) -> str | Behaviour:
        return answer if what(bool(request.tools), (request.response_format or {}).get("type")) else "hi"

    return respond


@pytest.mark.parametrize(
    "refusal",
    [
        refuse_with(400, "registry.ollama.ai/library/gemma:2b does not support tools"),
        refuse_with(400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
        refuse_with(404, "No endpoints found that support tool use."),
        refuse_with(422, "extra fields not permitted", param="tools"),
        refuse_with(500, "tools param requires --jinja flag"),
    ],
)
async def test_a_server_without_tools_is_asked_without_them_and_from_then_on(
    scripted_model: ScriptedModel, refusal: Json
) -> None:
    scripted_model.default = refuse(lambda tools, form: tools, refusal)
    model = make_model(scripted_model, retries=2)
    assert model.takes_tools()

    assert await converse(model) == ("hi", [])
    assert forms(scripted_model) == [("json_schema", True), ("json_schema", False)]
    assert not model.takes_tools()
    assert not model.takes_tools("m")
    assert model.takes_tools("another"), "another model of the same server may take them"

    scripted_model.requests.clear()
    assert await converse(model) == ("hi", [])
    assert forms(scripted_model) == [("json_schema", False)]


@pytest.mark.spec("E5")
@pytest.mark.parametrize(
    "refusal",
    [
        refuse_with(400, "json mode cannot be combined with tool/function calling"),
        refuse_with(400, "Function calling with a response mime type: 'application/json' is unsupported"),
        refuse_with(400, "Cannot use custom grammar constraints with tools."),
        refuse_with(400, "Bad Request"),
    ],
)
async def test_where_tools_and_a_format_exclude_each_other_the_format_goes(
    scripted_model: ScriptedModel, refusal: Json
) -> None:
    scripted_model.default = refuse(lambda tools, form: tools and form, refusal)
    model = make_model(scripted_model)

    await converse(model)
    await converse(model)
    await converse(model, ModelRequest(messages=REQUEST.messages, response_format=FORMAT))

    assert forms(scripted_model) == [("json_schema", True), (None, True), (None, True), ("json_schema", False)]
    assert model.takes_tools()


async def test_a_refusal_that_names_the_format_weakens_it_and_keeps_the_tools(scripted_model: ScriptedModel) -> None:
    scripted_model.default = refuse(lambda tools, form: form == "json_schema", refuse_with(400, "no json_schema here"))
    await converse(make_model(scripted_model))
    assert forms(scripted_model) == [("json_schema", True), ("json_object", True)]


@pytest.mark.parametrize(
    "refusal",
    [
        refuse_with(400, "failed to parse grammar"),
        refuse_with(500, "failed to parse grammar"),
        refuse_with(400, "Grammar error: invalid rule"),
        refuse_with(400, "Value is not callable: null"),
        Reply((b'data: {"error": {"code": 500, "message": "Failed to parse grammar"}}\n\n',), finish_reason=None),
    ],
)
async def test_what_worked_once_is_a_preference_and_no_proof(scripted_model: ScriptedModel, refusal: Behaviour) -> None:
    scripted_model.default = lambda request: "hi"
    model = make_model(scripted_model)
    assert await converse(model) == ("hi", [])

    scripted_model.default = lambda request: refusal if request.tools else "hi"
    assert await converse(model) == ("hi", [])
    assert not forms(scripted_model)[-1][1]
    assert len(forms(scripted_model)) <= 4

    scripted_model.requests.clear()
    scripted_model.default = lambda request: "hi"
    assert await converse(model) == ("hi", [])
    assert [offers for _form, offers in forms(scripted_model)] == [True], "another message may go well with tools"


@pytest.mark.spec("E5")
@pytest.mark.parametrize("status", [400, 500])
async def test_a_schema_that_worked_once_may_fail_for_another_message(
    scripted_model: ScriptedModel, status: int
) -> None:
    model = make_model(scripted_model)
    plain = ModelRequest(messages=REQUEST.messages, response_format=FORMAT)
    await converse(model, plain)
    scripted_model.default = refuse(lambda tools, form: form, refuse_with(status, "failed to parse grammar"))
    assert await converse(model, plain) == ("hi", [])


async def test_a_refusal_of_something_else_is_none_of_tools_that_worked(scripted_model: ScriptedModel) -> None:
    model = make_model(scripted_model)
    await converse(model)
    scripted_model.script(refuse_with(400, "This model's maximum context length is 8192."))
    with pytest.raises(ModelUnavailable):
        await converse(model)
    assert model.takes_tools()


async def test_after_calls_were_made_tools_are_not_dropped(scripted_model: ScriptedModel) -> None:
    """The caller has the results, and another way to put them."""
    scripted_model.default = refuse(lambda tools, form: True, refuse_with(400, "tool messages are not supported"))
    messages = (
        *REQUEST.messages,
        PromptMessage("assistant", "", calls=(ToolCall("a", "look", "{}"),)),
        PromptMessage("tool", "found", call_id="a"),
    )
    model = make_model(scripted_model)
    with pytest.raises(ModelUnavailable) as caught:
        await converse(model, ModelRequest(messages=messages, tools=(TOOL,)))
    assert caught.value.fields["reason"] == "refused"
    assert forms(scripted_model) == [(None, True)]
    assert model.takes_tools()
