"""The client and the readers of its answers against a real model, which babbles (E5, C6)."""

from __future__ import annotations

import json

import pytest

from apps.core.llm.openai import OpenAIChatModel
from apps.core.llm.reading import read_json_object
from apps.core.llm.streaming_json import FieldStream
from apps.core.llm.types import ModelRequest, PromptMessage, ResponseFormat

pytestmark = pytest.mark.llm

KEYS = ("emotion", "topic", "context_variables", "memory_update")
SCHEMA = {
    "type": "object",
    "properties": {
        "response": {"type": "string", "maxLength": 60},
        "emotion": {
            "type": "object",
            "properties": {"primary": {"enum": ["happy", "neutral"]}, "confidence": {"type": "number"}},
            "required": ["primary", "confidence"],
        },
        "topic": {"type": "string", "maxLength": 20},
    },
    "required": ["response", "emotion"],
}
SYSTEM = 'You answer with a JSON object {"response": "...", "emotion": {"primary": "...", "confidence": 0.5}}.'
MESSAGES = ("My name is Mel, I love blue.", "你好，我住在上海，喜欢写代码。", '{"a": 1} ```json 😀')


def make_request(text: str, *, formatted: bool, max_tokens: int) -> ModelRequest:
    return ModelRequest(
        messages=(PromptMessage("system", SYSTEM), PromptMessage("user", text)),
        response_format=ResponseFormat(name="turn", schema=SCHEMA) if formatted else None,
        max_tokens=max_tokens,
    )


@pytest.fixture
def model(llama_url: str) -> OpenAIChatModel:
    return OpenAIChatModel(base_url=llama_url)


async def test_the_listed_model_is_chosen(model: OpenAIChatModel) -> None:
    names = await model.list_models()
    await model.complete(make_request("Hi", formatted=False, max_tokens=4))

    assert len(names) == 1
    assert model.name == names[0]


@pytest.mark.long
@pytest.mark.spec("E5", "C6")
@pytest.mark.parametrize("text", MESSAGES)
@pytest.mark.parametrize("formatted", [True, False])
@pytest.mark.parametrize("max_tokens", [3, 60])
async def test_whatever_it_says_comes_in_pieces_and_is_understood(
    model: OpenAIChatModel, text: str, formatted: bool, max_tokens: int
) -> None:
    stream = FieldStream("response", other_keys=KEYS)
    pieces: list[str] = []
    deltas: list[str] = []

    async for piece in model.stream(make_request(text, formatted=formatted, max_tokens=max_tokens)):
        pieces.append(piece)
        deltas.append(stream.feed(piece))
    decoded = stream.close()

    assert decoded.raw == "".join(pieces)
    assert "".join(deltas) + decoded.tail == decoded.text
    whole = FieldStream("response", other_keys=KEYS)
    whole.feed(decoded.raw)
    assert whole.close().text == decoded.text
    assert not formatted or decoded.source in {"field", "none"}
    value = read_json_object(decoded.raw).value
    assert value is None or isinstance(value, dict)


@pytest.mark.spec("E5")
async def test_an_answer_to_a_schema_streams_its_reply(model: OpenAIChatModel) -> None:
    stream = FieldStream("response", other_keys=KEYS)
    request = make_request(MESSAGES[0], formatted=True, max_tokens=300)

    deltas = [stream.feed(piece) async for piece in model.stream(request)]
    decoded = stream.close()

    value = json.loads(decoded.raw)
    assert decoded.text == value["response"]
    assert len([delta for delta in deltas if delta]) > 1
    result = read_json_object(decoded.raw)
    assert result.value is not None
    assert (result.value["response"], result.value["emotion"]["primary"]) == (decoded.text, value["emotion"]["primary"])
