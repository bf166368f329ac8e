"""The OpenAI-compatible client against a real socket: every way a server can answer, and every way it can fail (C6)."""

from __future__ import annotations

import asyncio
import gc
import socket
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from apps.core.errors import ModelUnavailable
from apps.core.llm.connecting import MAX_LINE_BYTES
from apps.core.llm.openai import OpenAIChatModel, Retries, Timeouts
from apps.core.llm.types import ModelRequest, PromptMessage, ResponseFormat
from apps.core.llm.wire import DEFAULT_BASE_URL, MAX_ANSWER_CHARS, render_request
from tests.support.scripted_model import (
    TURN_ANSWER,
    Behaviour,
    Cut,
    Gate,
    Json,
    Raw,
    RecordedRequest,
    Reply,
    ScriptedModel,
    refuse_with,
)

SECRET = "sk-very-secret"
SCHEMA = {"type": "object", "properties": {"response": {"type": "string"}}}
PLAIN = ModelRequest(messages=(PromptMessage("system", "你是助手。"), PromptMessage("user", "Hello 你好")))
FORMATTED = ModelRequest(messages=PLAIN.messages, response_format=ResponseFormat(name="turn", schema=SCHEMA))


class Sleeper:
    """Stands in for asyncio.sleep and remembers the waits."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)


@pytest.fixture
def sleeper() -> Sleeper:
    return Sleeper()


# Kept to the end. An error holds its model in a cycle: were it collected while its loop runs, its connections would be
# finalized in any order, and may warn that nobody closed them. The end of the loop closes them.
_made: list[OpenAIChatModel] = []


def make_model(server: ScriptedModel | str, sleeper: Sleeper | None = None, **options: Any) -> OpenAIChatModel:
    base_url = server if isinstance(server, str) else server.base_url
    options.setdefault("model", "m1")
    _made.append(OpenAIChatModel(base_url=base_url, api_key=SECRET, sleep=sleeper or Sleeper(), **options))
    return _made[-1]


async def collect(stream: AsyncIterator[str], pieces: list[str]) -> None:
    """Append what comes to `pieces`, so that it is there even if the stream fails."""
    async for piece in stream:
        pieces.append(piece)  # noqa: PERF401 - extend() would lose them when the stream fails


async def fail(model: OpenAIChatModel, request: ModelRequest = PLAIN) -> tuple[list[str], ModelUnavailable]:
    """Return what came before the failure, and the failure."""
    pieces: list[str] = []
    with pytest.raises(ModelUnavailable) as caught:
        await collect(model.stream(request), pieces)
    assert SECRET not in caught.value.message
    return pieces, caught.value


def formats(server: ScriptedModel) -> list[str | None]:
    """Return the response format of each request the server got."""
    return [(request.response_format or {}).get("type") for request in server.chat_requests]


async def test_text_comes_piece_by_piece_before_the_answer_is_complete(scripted_model: ScriptedModel) -> None:
    gate = Gate()
    scripted_model.script(Reply(("你", "好", gate, "！")))

    async with aclosing(make_model(scripted_model).stream(PLAIN)) as pieces:
        assert [await anext(pieces), await anext(pieces)] == ["你", "好"]
        await gate.reached()
        gate.open()
        assert [piece async for piece in pieces] == ["！"]

    (request,) = scripted_model.requests
    assert request.messages == [{"role": "system", "content": "你是助手。"}, {"role": "user", "content": "Hello 你好"}]
    assert request.headers["authorization"] == f"Bearer {SECRET}"
    assert (request.body["model"], request.body["stream"]) == ("m1", True)
    assert "response_format" not in request.body
    assert "max_tokens" not in request.body


@pytest.mark.spec("E5")
async def test_a_schema_is_asked_for_without_strictness(scripted_model: ScriptedModel) -> None:
    assert await make_model(scripted_model).complete(FORMATTED) == TURN_ANSWER

    assert [request.response_format for request in scripted_model.requests] == [
        {"type": "json_schema", "json_schema": {"name": "turn", "schema": SCHEMA, "strict": False}}
    ]


def refuse_formats(*refused: str, answer: Json) -> Any:
    def respond(request: RecordedRequest) -> str | Behaviour:
        asked = (request.response_format or {}).get("type")
        return answer if asked in refused else "hi"

    return respond


@pytest.mark.spec("E5")
@pytest.mark.parametrize(
    "refusal",
    [
        refuse_with(400, "'response_format' is not supported"),
        refuse_with(422, "Extra inputs are not permitted", param="response_format"),
        refuse_with(404, "This model does not support json_schema or json_object"),
        refuse_with(400, "Bad Request"),
        Json({"detail": "unknown field"}, status=400),
    ],
)
@pytest.mark.parametrize(
    ("refused", "asked"),
    [
        (("json_schema",), ["json_schema", "json_object", "json_object"]),
        (("json_schema", "json_object"), ["json_schema", "json_object", None, None]),
    ],
)
async def test_a_refused_format_is_weakened_and_the_one_that_works_is_remembered(
    scripted_model: ScriptedModel, sleeper: Sleeper, refusal: Json, refused: tuple[str, ...], asked: list[str | None]
) -> None:
    scripted_model.default = refuse_formats(*refused, answer=refusal)
    model = make_model(scripted_model, sleeper)

    assert [await model.complete(FORMATTED), await model.complete(FORMATTED)] == ["hi", "hi"]

    assert formats(scripted_model) == asked
    assert sleeper.waits == []


@pytest.mark.spec("E5", "C6")
async def test_a_request_refused_for_another_reason_does_not_weaken_a_format_that_works(
    scripted_model: ScriptedModel,
) -> None:
    model = make_model(scripted_model)
    await model.complete(FORMATTED)
    scripted_model.script(refuse_with(400, "context length exceeded"))

    _, error = await fail(model, FORMATTED)

    assert error.fields == {"reason": "too_long", "status": 400}
    assert "context length exceeded" in error.message
    assert formats(scripted_model) == ["json_schema", "json_schema"]


@pytest.mark.spec("C6")
@pytest.mark.parametrize(
    ("answer", "fields"),
    [
        (refuse_with(401, f"Incorrect API key provided: {SECRET}"), {"reason": "refused", "status": 401}),
        (refuse_with(403), {"reason": "refused", "status": 403}),
        (refuse_with(404, "no such model"), {"reason": "refused", "status": 404}),
        (Raw((b"SSH-2.0-OpenSSH_9.2\r\n",)), {"reason": "dropped"}),
        (Json({"hello": "world"}), {"reason": "bad_answer"}),
        (Json({"choices": [{"message": {"content": None}}]}), {"reason": "bad_answer"}),
        (Json([]), {"reason": "bad_answer"}),
        (Raw((b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{broken",)), {"reason": "bad_answer"}),
        (Raw((b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>",)), {"reason": "dropped"}),
        (Reply((b"data: {broken\n\n",)), {"reason": "bad_answer"}),
        (Reply((b"data: [1, 2]\n\n", b"data: 7\n\n"), finish_reason=None), {"reason": "dropped"}),
        (Reply((b'data: {"error": {"message": "overloaded", "code": 1}}\n\n',)), {"reason": "server_error"}),
        (Reply((b"\xff\xfe\x00\xc3\x28\n" * 50,), finish_reason=None), {"reason": "bad_answer"}),
        (Reply((), finish_reason=None), {"reason": "dropped"}),
    ],
)
async def test_a_server_that_gives_no_answer_is_a_failure(
    scripted_model: ScriptedModel, answer: Behaviour, fields: dict[str, Any]
) -> None:
    scripted_model.default = lambda request: answer

    pieces, error = await fail(make_model(scripted_model))

    assert pieces == []
    assert error.fields == fields


def thinking(**message: Any) -> Json:
    """A completion that came as one JSON body."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    return Json({"object": "chat.completion", "choices": [choice]})


THOUGHT_EVENT = b'data: {"choices": [{"index": 0, "delta": {"reasoning_content": "{\\"response\\": \\"N\\"}"}}]}\n\n'


@pytest.mark.spec("C6")
@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (thinking(content=None, reasoning_content='{"response": "Noted."}', tool_calls=[]), "only_reasoning"),
        (thinking(content="", reasoning="Hm."), "only_reasoning"),
        (thinking(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]), "only_reasoning"),
        (Reply((THOUGHT_EVENT,)), "only_reasoning"),
        (Reply((THOUGHT_EVENT, "\n"), finish_reason="length"), "reasoning_limit"),
        (Reply(("<think>Hm.</think>\n",)), "only_reasoning"),
        (Reply(("[THINK]Hm. ", "Well"), finish_reason="length"), "reasoning_limit"),
        (Reply(("<|channel|>analysis<|message|>Hm.<|end|>",)), "only_reasoning"),
    ],
)
async def test_an_answer_of_nothing_but_thought_is_a_failure_with_its_reason(
    scripted_model: ScriptedModel, sleeper: Sleeper, behaviour: Behaviour, reason: str
) -> None:
    scripted_model.script(behaviour)

    _pieces, error = await fail(make_model(scripted_model, sleeper))

    assert error.fields == {"reason": reason}
    assert "reasoning" in error.message
    assert len(scripted_model.requests) == 1


@pytest.mark.parametrize(
    "behaviour",
    [
        thinking(content="Hi.", reasoning_content="Hm."),
        thinking(content=[{"type": "thinking", "thinking": []}, {"type": "text", "text": "Hi."}]),
        Reply((THOUGHT_EVENT, "Hi.")),
        Reply(("Hi.",), finish_reason="length"),
    ],
)
async def test_thought_beside_an_answer_is_passed_over(scripted_model: ScriptedModel, behaviour: Behaviour) -> None:
    scripted_model.script(behaviour)

    assert await make_model(scripted_model).complete(PLAIN) == "Hi."


@pytest.mark.spec("C6")
@pytest.mark.parametrize(
    ("end", "cut", "reason"),
    [
        ((), "rst", "dropped"),
        ((), "fin", "dropped"),
        ((), None, "dropped"),
        ((b"data: {broken\n\n",), None, "bad_answer"),
        ((b'data: {"error": {"message": "overloaded", "code": 503}}\n\n',), None, "server_error"),
    ],
    ids=["reset", "closed", "no finish_reason", "garbage", "error event"],
)
async def test_an_answer_that_breaks_off_is_a_failure_and_is_not_asked_for_again(
    scripted_model: ScriptedModel, sleeper: Sleeper, end: tuple[bytes, ...], cut: Cut | None, reason: str
) -> None:
    gate = Gate()
    scripted_model.script(Reply(("half an ", "answer", gate, *end), finish_reason=None, cut=cut))
    pieces = make_model(scripted_model, sleeper).stream(PLAIN)
    assert [await anext(pieces), await anext(pieces)] == ["half an ", "answer"]
    gate.open()

    with pytest.raises(ModelUnavailable) as caught:
        await anext(pieces)

    assert caught.value.fields == {"reason": reason}
    assert len(scripted_model.requests) == 1
    assert sleeper.waits == []


@pytest.mark.spec("C6")
@pytest.mark.parametrize("finish_reason", ["stop", "length", "content_filter", "anything"])
async def test_any_finish_reason_ends_an_answer_even_if_the_rest_of_the_stream_is_lost(
    scripted_model: ScriptedModel, finish_reason: str
) -> None:
    scripted_model.script(Reply(("whole",), finish_reason, cut="fin"), Reply(("whole",), finish_reason))
    model = make_model(scripted_model)

    assert [await model.complete(PLAIN), await model.complete(PLAIN)] == ["whole", "whole"]
    assert len(scripted_model.requests) == 2


async def test_events_without_text_are_passed_over(scripted_model: ScriptedModel) -> None:
    odd = [
        b": a comment\n\n",
        b'data: {"choices": []}\n\n',
        b'data: {"choices": [], "usage": {"total_tokens": 3}}\n\n',
        b'data: {"choices": [{"index": 0, "delta": {"content": null}}]}\n\n',
        b'data: {"choices": [{"index": 0, "delta": {"reasoning_content": "hmm"}}]}\n\n',
        b'data: {"choices": [{"index": 0}]}\n\n',
        b'data: {"choices": null}\n\n',
    ]
    scripted_model.script(Reply((*odd, "你好", *odd, "!")))

    assert [piece async for piece in make_model(scripted_model).stream(PLAIN)] == ["你好", "!"]


async def test_a_server_that_does_not_stream_is_understood(scripted_model: ScriptedModel) -> None:
    scripted_model.script(Reply(("你好", "!"), streamed=False))

    assert [piece async for piece in make_model(scripted_model).stream(PLAIN)] == ["你好!"]


@pytest.mark.spec("C6")
@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (refuse_with(429), "rate_limited"),
        (refuse_with(429, retry_after="soon"), "rate_limited"),
        (refuse_with(429, retry_after="nan"), "rate_limited"),
        (refuse_with(500), "server_error"),
        (refuse_with(503), "server_error"),
        (refuse_with(408), "server_error"),
        (refuse_with(409), "server_error"),
        (Raw((), cut="rst"), "dropped"),
        (Raw((), cut="fin"), "dropped"),
        (Reply((), cut="fin", finish_reason=None), "dropped"),
        (Reply((b'data: {"error": {"message": "busy", "code": 503}}\n\n',)), "server_error"),
    ],
)
async def test_passing_trouble_before_the_first_text_is_retried_a_few_times(
    scripted_model: ScriptedModel, sleeper: Sleeper, trouble: Behaviour, reason: str
) -> None:
    model = make_model(scripted_model, sleeper, retries=Retries(count=2, base=1.0))
    scripted_model.script(trouble, trouble, "answer", trouble, trouble, trouble, "never asked for")

    assert await model.complete(PLAIN) == "answer"
    assert 0.5 <= sleeper.waits[0] <= 1.0
    assert 1.0 <= sleeper.waits[1] <= 2.0
    assert len(sleeper.waits) == 2

    _, error = await fail(model)

    assert error.fields["reason"] == reason
    assert len(scripted_model.requests) == 6


@pytest.mark.spec("C6")
async def test_retry_after_is_honoured_within_bounds(scripted_model: ScriptedModel, sleeper: Sleeper) -> None:
    model = make_model(scripted_model, sleeper, retries=Retries(longest=20.0))
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=15), usegmt=True)
    scripted_model.script(
        refuse_with(429, retry_after="7"),
        refuse_with(429, retry_after=date),
        "answer",
        refuse_with(429, retry_after="21"),
    )

    assert await model.complete(PLAIN) == "answer"
    assert sleeper.waits[0] == 7.0
    assert 10.0 < sleeper.waits[1] <= 15.0

    _, error = await fail(model)
    assert error.fields == {"reason": "rate_limited", "status": 429}
    assert len(sleeper.waits) == 2


@pytest.mark.spec("C6")
async def test_a_server_that_is_not_there_is_unreachable(sleeper: Sleeper) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]

    _, error = await fail(make_model(f"http://somebody:secret@127.0.0.1:{port}/v1", sleeper))

    assert error.fields == {"reason": "unreachable"}
    assert f"http://127.0.0.1:{port}/v1" in error.message
    assert "OPENAI_BASE_URL" in error.message
    assert len(sleeper.waits) == 2


@pytest.mark.parametrize(
    ("base_url", "api_key", "reason"),
    [("ftp://127.0.0.1/v1", "k", "unreachable"), ("no address", "k", "unreachable"), ("", "密钥", "refused")],
)
async def test_settings_that_cannot_work_are_named(base_url: str, api_key: str, reason: str) -> None:
    model = OpenAIChatModel(base_url=base_url or "http://127.0.0.1:9/v1", api_key=api_key, model="m1")

    _, error = await fail(model)

    assert error.fields["reason"] == reason
    assert ("OPENAI_API_KEY" if reason == "refused" else "OPENAI_BASE_URL") in error.message


@pytest.mark.long
@pytest.mark.spec("C6")
@pytest.mark.parametrize(
    ("timeouts", "pieces"),
    [
        (Timeouts(first_event=0.2), None),
        (Timeouts(between_events=0.2), []),
        (Timeouts(between_events=0.5), ["some"]),
        (Timeouts(total=1.0), ["some"]),
    ],
    ids=["headers", "first text", "between", "total"],
)
async def test_silence_is_a_timeout_and_is_not_retried(
    scripted_model: ScriptedModel, sleeper: Sleeper, timeouts: Timeouts, pieces: list[str] | None
) -> None:
    gate = Gate()
    scripted_model.script(Raw((gate,)) if pieces is None else Reply((*pieces, gate)))

    came, error = await fail(make_model(scripted_model, sleeper, timeouts=timeouts))

    assert came == (pieces or [])
    assert error.fields == {"reason": "timeout"}
    assert sleeper.waits == []
    await asyncio.wait_for(asyncio.wrap_future(scripted_model.requests[0].disconnected), 10)


@pytest.mark.spec("C6")
async def test_retries_end_with_the_total_time(scripted_model: ScriptedModel, sleeper: Sleeper) -> None:
    scripted_model.script(refuse_with(429, retry_after="6"), "too late")

    _, error = await fail(make_model(scripted_model, sleeper, timeouts=Timeouts(total=5)))

    assert error.fields["reason"] == "rate_limited"
    assert sleeper.waits == []


@pytest.mark.long
@pytest.mark.spec("C6")
async def test_an_answer_without_end_is_cut_off(scripted_model: ScriptedModel) -> None:
    scripted_model.script(Reply(("长" * 400_000, "长" * 400_000, "长" * 400_000)))

    pieces, error = await fail(make_model(scripted_model))

    assert sum(map(len, pieces)) <= MAX_ANSWER_CHARS
    assert error.fields == {"reason": "bad_answer"}


@pytest.mark.parametrize("way", ["close", "cancel"])
async def test_giving_up_closes_the_connection(scripted_model: ScriptedModel, way: str) -> None:
    gate = Gate()
    scripted_model.script(Reply(("some", gate, "more")))
    pieces = make_model(scripted_model).stream(PLAIN)
    assert await anext(pieces) == "some"
    await gate.reached()

    if way == "close":
        await pieces.aclose()
    else:
        waiting = asyncio.ensure_future(anext(pieces))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    await asyncio.wait_for(asyncio.wrap_future(scripted_model.requests[0].disconnected), 10)


async def test_connections_are_used_again(scripted_model: ScriptedModel) -> None:
    model = make_model(scripted_model)
    for _ in range(5):
        await model.complete(PLAIN)

    assert len({request.peer for request in scripted_model.requests}) == 1


def test_one_model_serves_many_event_loops_and_leaves_nothing_open(scripted_model: ScriptedModel) -> None:
    model = make_model(scripted_model)

    assert [asyncio.run(model.complete(PLAIN)) for _ in range(3)] == [TURN_ANSWER] * 3

    assert model._clients._open == {}
    gc.collect()  # an open transport would be a ResourceWarning, which fails the test


async def test_without_a_name_the_first_listed_model_answers_and_is_remembered(scripted_model: ScriptedModel) -> None:
    scripted_model.models = ("first", "second")
    model = make_model(scripted_model, model="")

    assert await model.list_models() == ["first", "second"]
    await model.complete(PLAIN)
    await model.complete(PLAIN)

    assert model.name == "first"
    assert [request.body["model"] for request in scripted_model.chat_requests] == ["first", "first"]
    assert len(scripted_model.requests) == 4


@pytest.mark.spec("C6")
async def test_a_list_of_models_that_fails_is_asked_for_again(scripted_model: ScriptedModel, sleeper: Sleeper) -> None:
    model = make_model(scripted_model, sleeper, model="", retries=Retries(count=1))
    scripted_model.script_models(refuse_with(500), refuse_with(500), refuse_with(500))

    _, error = await fail(model)
    assert error.fields == {"reason": "server_error", "status": 500}

    assert await model.complete(PLAIN) == TURN_ANSWER
    assert model.name == "scripted"
    assert len(sleeper.waits) == 2


@pytest.mark.spec("C6")
@pytest.mark.parametrize(("listing", "reason"), [(Json({"data": []}), "no_model"), (Json({"data": 5}), "bad_answer")])
async def test_a_server_without_models_is_a_failure(scripted_model: ScriptedModel, listing: Json, reason: str) -> None:
    scripted_model.script_models(listing)

    _, error = await fail(make_model(scripted_model, model=""))

    assert error.fields == {"reason": reason}


@pytest.mark.parametrize(
    ("base_url", "name"), [(DEFAULT_BASE_URL, "max_completion_tokens"), ("http://127.0.0.1:1/v1", "max_tokens")]
)
def test_the_limit_of_tokens_has_the_name_that_the_server_knows(base_url: str, name: str) -> None:
    request = ModelRequest(messages=PLAIN.messages, max_tokens=7)

    assert render_request(request, model="m", level="text", base_url=base_url)[name] == 7


def redirect(status: int, location: str) -> Json:
    return Json({}, status=status, headers=(("Location", location),))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_redirect_is_followed(scripted_model: ScriptedModel, sleeper: Sleeper, status: int) -> None:
    with ScriptedModel() as elsewhere:
        away = redirect(status, f"{elsewhere.base_url}/chat/completions")
        scripted_model.script(away, away)
        scripted_model.script_models(redirect(status, f"{elsewhere.base_url}/models"))

        _, error = await fail(make_model(scripted_model, sleeper))
        assert error.fields == {"reason": "refused", "status": status}
        assert "Check OPENAI_BASE_URL" in error.message
        with pytest.raises(ModelUnavailable):
            [event async for event in make_model(scripted_model, sleeper).relay({"messages": []})]
        with pytest.raises(ModelUnavailable):
            await make_model(scripted_model, sleeper).list_models()
        assert elsewhere.requests == []


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nConnection: close\r\n\r\n"
ENDLESS = (b"x" * 1_000_000,) * 40


@pytest.mark.long
@pytest.mark.spec("C6")
@pytest.mark.parametrize(
    "behaviour",
    [
        Raw((HEAD % b"text/event-stream", b"data: ", *ENDLESS)),
        Raw((HEAD % b"text/event-stream", b'data: {"choices": []}\n\n', *ENDLESS)),
        Raw((HEAD % b"application/json", b'{"choices": "', *ENDLESS)),
        Raw((b"HTTP/1.1 500 Oh\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n", *ENDLESS)),
    ],
    ids=["line", "second line", "body", "error"],
)
async def test_an_answer_without_line_ends_is_not_collected(
    scripted_model: ScriptedModel, sleeper: Sleeper, behaviour: Raw
) -> None:
    scripted_model.script(*[behaviour] * 3)

    tracemalloc.start()
    try:
        _, error = await fail(make_model(scripted_model, sleeper))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert error.fields["reason"] == "bad_answer"
    assert peak < 5 * MAX_LINE_BYTES
    assert len(scripted_model.requests) == 1
