"""The openai package: each of its calls that the product answers. Prints what came back, by name."""

from __future__ import annotations

import json
import sys
from typing import Any

import openai
from pydantic import BaseModel

TOOL: Any = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


class Trip(BaseModel):
    city: str
    days: int


NO_SESSION = {"X-Session-Id": "7b0e4a52-6f0a-4d0e-8f1c-000000000000"}

given = json.load(sys.stdin)
client = openai.OpenAI(base_url=given["base_url"], api_key=given["token"], max_retries=0)
model = client.models.list().data[0].id
found: dict[str, Any] = {"model": model, "models": [each.id for each in client.models.list()]}
found["model_again"] = client.models.retrieve(model).id


def ask(text: str, **options: Any) -> Any:
    return client.chat.completions.create(model=model, messages=[{"role": "user", "content": text}], **options)


def whole() -> None:
    raw = client.chat.completions.with_raw_response.create(
        model=model, messages=[{"role": "user", "content": given["text"]}], max_tokens=given["max_tokens"]
    )
    completion = raw.parse()
    found["whole"] = {
        "session": raw.headers.get("x-session-id"),
        "text": completion.choices[0].message.content,
        "finish_reason": completion.choices[0].finish_reason,
        "role": completion.choices[0].message.role,
        "usage": completion.usage.model_dump() if completion.usage else None,
        "object": completion.object,
    }


def streamed() -> None:
    pieces, usages, finish, empty = [], [], [], 0
    options = {"include_usage": True}
    raw = client.chat.completions.with_raw_response.create(
        model=model,
        messages=[{"role": "user", "content": given["text"]}],
        max_tokens=given["max_tokens"],
        stream=True,
        stream_options=options,
        extra_headers={"X-Session-Id": found["whole"]["session"]},
    )
    for chunk in raw.parse():
        empty += not chunk.choices
        usages.append(chunk.usage.model_dump() if chunk.usage else None)
        for choice in chunk.choices:
            pieces.append(choice.delta.content or "")
            finish += [choice.finish_reason] if choice.finish_reason else []
    found["streamed"] = {
        "session": raw.headers.get("x-session-id"),
        "pieces": pieces,
        "finish_reason": finish,
        "usages": usages,
        "chunks_without_choices": empty,
    }


def history() -> None:
    """The client resends its history; no session is named."""
    said = [
        {"role": "user", "content": given["text"]},
        {"role": "assistant", "content": found["whole"]["text"]},
        {"role": "user", "content": given["text"]},
        {"role": "assistant", "content": "".join(found["streamed"]["pieces"])},
        {"role": "user", "content": "And then?"},
    ]
    raw = client.chat.completions.with_raw_response.create(model=model, messages=said, max_tokens=given["max_tokens"])
    found["history"] = {"session": raw.headers.get("x-session-id"), "text": raw.parse().choices[0].message.content}


def tools() -> None:
    said: list[Any] = [{"role": "user", "content": "How is the weather in Qingdao?"}]
    first = client.chat.completions.create(model=model, messages=said, tools=[TOOL]).choices[0]
    call = first.message.tool_calls[0]
    said += [first.message, {"role": "tool", "tool_call_id": call.id, "content": "sunny"}]
    second = client.chat.completions.create(model=model, messages=said, tools=[TOOL]).choices[0]
    found["tools"] = {
        "finish_reason": first.finish_reason,
        "name": call.function.name,
        "arguments": json.loads(call.function.arguments),
        "text": second.message.content,
    }
    deltas = [
        delta
        for chunk in client.chat.completions.create(model=model, messages=said[:1], tools=[TOOL], stream=True)
        for choice in chunk.choices
        for delta in choice.delta.tool_calls or []
    ]
    found["tools"]["streamed_name"] = deltas[0].function.name


def parsed() -> None:
    said: Any = [{"role": "user", "content": "Two days in Qingdao, please."}]
    completion = client.chat.completions.parse(model=model, messages=said, response_format=Trip)
    found["parsed"] = completion.choices[0].message.parsed.model_dump()


def embeddings() -> None:
    # Without `encoding_format` the client asks for base64 and decodes it.
    vectors = client.embeddings.create(model="text-embedding-3-small", input=["虾", "shrimp"])
    floats = client.embeddings.create(model="text-embedding-3-small", input="虾", encoding_format="float")
    found["embeddings"] = {
        "lengths": [len(item.embedding) for item in vectors.data],
        "indexes": [item.index for item in vectors.data],
        "same": max(abs(a - b) for a, b in zip(vectors.data[0].embedding, floats.data[0].embedding, strict=True)),
        "usage": vectors.usage.model_dump(),
    }


def responses() -> None:
    first = client.responses.create(model=model, input=given["text"], max_output_tokens=given["max_tokens"])
    second = client.responses.create(
        model=model, input="And then?", previous_response_id=first.id, max_output_tokens=given["max_tokens"]
    )
    found["responses"] = {"text": first.output_text, "second": second.output_text, "status": first.status}
    events, pieces = [], []
    with client.responses.stream(model=model, input=given["text"], max_output_tokens=given["max_tokens"]) as stream:
        for event in stream:
            events.append(event.type)
            if event.type == "response.output_text.delta":
                pieces.append(event.delta)
            elif event.type in ("response.completed", "response.incomplete"):  # the latter where the limit was met
                found["responses"] |= {"final": event.response.output_text}
    found["responses"] |= {"events": events, "pieces": pieces}


def refused(ask: Any) -> dict[str, Any]:
    try:
        ask()
    except openai.APIStatusError as error:
        return {
            "kind": type(error).__name__,
            "status": error.status_code,
            "message": error.message,
            "type": error.type,
            "param": error.param,
            "code": error.code,
        }
    return {"kind": "none"}


def errors() -> None:
    stranger = client.with_options(api_key="wrong")
    found["errors"] = {
        "token": refused(lambda: stranger.models.list()),
        "messages": refused(lambda: client.chat.completions.create(model=model, messages=[])),
        "blank": refused(lambda: ask(" ")),
        "flag": refused(lambda: ask("Hello", extra_body={"store": "yes"})),
        "session": refused(lambda: ask("Hello", extra_headers=NO_SESSION)),
        "previous": refused(lambda: client.responses.create(model=model, input="Hi", previous_response_id="no")),
        "model": refused(lambda: client.models.retrieve("no-such-model")),
    }


for name in given["calls"]:
    globals()[name]()
json.dump(found, sys.stdout)
