"""What the API document says about the OpenAI-compatible endpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from drf_spectacular.utils import OpenApiParameter

from apps.core.llm.embedding.types import DIMENSIONS
from apps.core.openapi.types import Answer, Body, Component, ErrorShape, Examples, Operation, Problem, event
from apps.doors.openai.base import encode_error

TAG = "OpenAI-compatible"
SESSION_ID = "8d1f2c1e-5a0b-4c57-9f0e-3a7b5b1d9c42"
RESPONSE_ID = "resp_b7d6f1a05c3e4f0e9c2d8a1f6e5b4c3d"
STREAM = "text/event-stream"

OPENAI_ERROR = ErrorShape(
    "OpenAIError",
    {
        "type": "object",
        "description": "Errors of the OpenAI-compatible endpoints have OpenAI's shape.",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["message", "type", "param", "code"],
                "properties": {
                    "message": {"type": "string", "description": "One sentence for people."},
                    "type": {
                        "type": "string",
                        "description": "The kind, such as `invalid_request_error` or `server_error`.",
                    },
                    "param": {
                        "type": ["string", "null"],
                        "description": "The parameter that is wrong, if it is one.",
                    },
                    "code": {
                        "type": ["string", "null"],
                        "description": "For programs, such as `model_not_found` or `previous_response_not_found`.",
                    },
                },
            }
        },
    },
    encode_error,
)


def _nullable(kind: str, description: str, **more: Any) -> dict[str, Any]:
    return {"type": [kind, "null"], "description": description, **more}


def _free(description: str) -> dict[str, Any]:
    return {"description": description}


def _object(description: str, properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "description": description, "required": list(required), "properties": dict(properties)}


SESSION = OpenApiParameter(
    "X-Session-Id",
    str,
    OpenApiParameter.HEADER,
    description="ID of the session to continue. Without it, the history that comes with the request tells which it "
    "is; else a new one is made. The answer has the ID in a header of the same name.",
)
TASK = OpenApiParameter(
    "X-Task",
    str,
    OpenApiParameter.HEADER,
    description="Says that this is no conversation but housekeeping of the client, such as `title_generation`. The "
    "model answers it; nothing is recalled, stored or learned.",
)
MODEL = _nullable("string", "A model of the server; `jiyi` stands for the configured one.")
EXTENSION = _object(
    "What the turn found: the session, emotion, strategy, memories used and proposed.",
    {"session_id": _nullable("string", "ID of the session; null if nothing was stored.")},
)
MESSAGE = {"role": "user", "content": "What should I cook on Friday?"}
REPLY = "A mushroom risotto: Anna is vegetarian."
USAGE = {"prompt_tokens": 412, "completion_tokens": 10, "total_tokens": 422}
TOLD: dict[str, Any] = {"session_id": SESSION_ID, "message_id": None, "memories_used": [], "memory_updates": []}

CHAT_REQUEST = Component(
    "ChatCompletionRequest",
    _object(
        "A chat completion request of OpenAI's API. All other parameters go to the model as they are.",
        {
            "messages": {
                "type": "array",
                "minItems": 1,
                "items": {"type": "object"},
                "description": "The messages: only the new one, or the conversation so far.",
            },
            "model": MODEL,
            "stream": _nullable("boolean", "Send the reply as it is written."),
            "stream_options": _nullable("object", "With `include_usage`, a last chunk has the usage."),
            "store": _nullable("boolean", "If false, nothing is stored or learned; memories are still read."),
            "tools": _free("The client's own tools. The answer then comes as the model's server sends it."),
            "response_format": _free("A format of the answer, which then comes as the model's server sends it."),
            "stop": _free("A string, or a list of strings, at which the reply ends."),
            "max_completion_tokens": _nullable("integer", "How long the reply may be, in estimated tokens.", minimum=1),
            "user": _free("With a service token: the end user for whom this is."),
        },
        "messages",
    ),
)
CHAT_ANSWER = Component(
    "ChatCompletion",
    _object(
        "A chat completion of OpenAI's API, with `jiyi` besides where the answer is our own.",
        {
            "id": {"type": "string"},
            "object": {"type": "string"},
            "choices": {"type": "array", "items": {"type": "object"}},
            "jiyi": EXTENSION,
        },
        "choices",
    ),
)
CHAT_EXAMPLE = {
    "id": "chatcmpl-b7d6f1a05c3e4f0e9c2d8a1f6e5b4c3d",
    "object": "chat.completion",
    "created": 1795629941,
    "model": "gpt-5",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": REPLY, "refusal": None},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ],
    "usage": USAGE,
    "jiyi": TOLD,
}
CHAT_STREAM = 'data: {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "A mush"}}]}\n\n'

EMBEDDING_REQUEST = Component(
    "EmbeddingRequest",
    _object(
        "Texts to embed.",
        {
            "input": {
                "description": "A text, or up to 2,048 texts. Not blank, at most 8,192 estimated tokens each, 300,000 "
                "together. Arrays of tokens are not taken.",
                "anyOf": [
                    {"type": "string", "minLength": 1},
                    {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1, "maxItems": 2048},
                ],
            },
            "model": _nullable("string", "The model that embeds here; `text-embedding-3-small` stands for it."),
            "encoding_format": _nullable(
                "string", "How vectors are written: `float` or `base64`.", pattern="^(float|base64)?$"
            ),
            "dimensions": _nullable(
                "integer", "Fewer than 1,536 only where that loses nothing.", minimum=1, maximum=DIMENSIONS
            ),
            "user": _free("Ignored."),
            "safety_identifier": _free("Ignored."),
        },
        "input",
    )
    | {"additionalProperties": False},
)
EMBEDDING_ANSWER = Component(
    "EmbeddingList",
    _object(
        "Vectors of length 1, in the order of the texts.",
        {
            "object": {"type": "string"},
            "data": {
                "type": "array",
                "items": _object(
                    "A vector.",
                    {
                        "object": {"type": "string"},
                        "index": {"type": "integer"},
                        "embedding": {"anyOf": [{"type": "array", "items": {"type": "number"}}, {"type": "string"}]},
                    },
                    "object",
                    "index",
                    "embedding",
                ),
            },
            "model": {"type": "string", "description": "The model that made them."},
            "usage": {"type": "object", "description": "Estimated."},
        },
        "object",
        "data",
        "model",
        "usage",
    ),
)

RESPONSE_REQUEST = Component(
    "ResponseRequest",
    _object(
        "A request for a response, as far as it is supported. What would change the answer and is not supported is "
        "refused, and the error names it; what only describes the client is ignored.",
        {
            "input": {
                "description": "A message, or items: messages, function calls and their outputs, references to items.",
                "anyOf": [
                    {"type": "string", "minLength": 1},
                    {"type": "array", "items": {"type": "object"}, "minItems": 1},
                ],
            },
            "model": MODEL,
            "instructions": _nullable("string", "The application's instructions for this response."),
            "previous_response_id": _nullable(
                "string",
                "The response to continue: then `input` is only what is new, and what is stored is the history.",
            ),
            "stream": _nullable("boolean", "Send events while the response is made."),
            "store": _nullable("boolean", "If false, nothing is stored or learned, and nothing can continue from it."),
            "tools": _nullable("array", "Functions of the client.", items={"type": "object"}),
            "tool_choice": _free("`auto`, `none`, `required`, or functions by name."),
            "parallel_tool_calls": _nullable("boolean", "Whether several functions may be called at once."),
            "text": _nullable("object", "`format`: text, json_object or json_schema."),
            "reasoning": _nullable("object", "`effort` goes to the model."),
            "max_output_tokens": _nullable("integer", "How long the reply may be.", minimum=1),
            "temperature": _nullable("number", "Goes to the model."),
            "top_p": _nullable("number", "Goes to the model."),
            "metadata": _nullable("object", "Up to 16 strings, which the response repeats."),
            "user": _free("With a service token: the end user for whom this is."),
            "safety_identifier": _free("As `user`."),
        },
        "input",
    ),
)
RESPONSE_ANSWER = Component(
    "Response",
    _object(
        "A response of OpenAI's API.",
        {
            "id": {"type": "string", "description": "For `previous_response_id`, if it was stored."},
            "object": {"type": "string"},
            "status": {"type": "string", "description": "`completed`, `incomplete`, `in_progress` or `failed`."},
            "output": {
                "type": "array",
                "items": {"type": "object"},
                "description": "A message, calls of the client's functions, or both.",
            },
            "jiyi": EXTENSION,
        },
        "id",
        "object",
        "status",
        "output",
    ),
)
RESPONSE_EXAMPLE: dict[str, Any] = {
    "id": RESPONSE_ID,
    "object": "response",
    "created_at": 1795629941,
    "model": "gpt-5",
    "status": "completed",
    "output": [
        {
            "id": RESPONSE_ID.replace("resp", "msg"),
            "type": "message",
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": REPLY, "annotations": [], "logprobs": []}],
        }
    ],
    "error": None,
    "incomplete_details": None,
    "metadata": {},
}
RESPONSE_STREAM = (
    "event: response.output_text.delta\n"
    'data: {"type": "response.output_text.delta", "sequence_number": 4, "delta": "A mushroom"}\n\n'
)

MODEL_OBJECT = Component(
    "Model",
    _object(
        "A model that can be asked for.",
        {
            "id": {"type": "string"},
            "object": {"type": "string"},
            "created": {"type": "integer"},
            "owned_by": {"type": "string"},
        },
        "id",
        "object",
        "created",
        "owned_by",
    ),
)
MODEL_LIST = Component(
    "ModelList",
    _object(
        "The configured chat model, the others of its server, and the embedding model.",
        {"object": {"type": "string"}, "data": {"type": "array", "items": MODEL_OBJECT.schema}},
        "object",
        "data",
    ),
)
MODEL_EXAMPLE = {"id": "jiyi", "object": "model", "created": 0, "owned_by": "jiyi"}

NO_SESSION = "`X-Session-Id` names no session"
NO_PREVIOUS = "There is no such previous response"
NO_SUCH_MODEL = "There is no such model"
NO_MODEL = "There is no such embedding model"
TOO_LONG = "The message is too long"
REFUSED = "The model's server refuses the request; its status and error are passed on, a 400 or 404 too"
FAILED = "The model failed; the message is kept as `failed` and taken up when it is sent again"
NO_EMBEDDER = "The embedding model cannot be asked"

_NO_SESSION = Problem(NO_SESSION, "not_found", "This session does not exist.")
_TOO_LONG = Problem(TOO_LONG, "too_large", "The message has 40000 characters; 32000 are allowed.")
_REFUSED = Problem(REFUSED, "invalid", "The template of this model knows no tools.")
_FAILED = Problem(FAILED, "model_unavailable", "The model could not answer this message.")

_OPERATIONS = {
    "POST /v1/chat/completions": Operation(
        id="create_chat_completion",
        summary="Answer a chat with memory",
        tag=TAG,
        description="Any client of OpenAI's chat completions. The reply takes into account what is remembered, and "
        "what the person says is remembered. See `docs/openai.md`.",
        parameters=[SESSION, TASK],
        body=Body(
            CHAT_REQUEST,
            Examples(
                {
                    "Only the new message": {"model": "jiyi", "messages": [MESSAGE]},
                    "中文": {"model": "jiyi", "messages": [{"role": "user", "content": "周五我该做什么菜？"}]},
                }
            ),
        ),
        answers={
            200: [
                Answer(CHAT_ANSWER, CHAT_EXAMPLE, "The completion, or its chunks as a stream, with `stream: true`."),
                Answer(
                    event("ChatCompletionEvent", "`data` is a chunk of the completion; of the last event, `[DONE]`."),
                    CHAT_STREAM,
                    media_type=STREAM,
                ),
            ]
        },
        problems={404: _NO_SESSION, 413: _TOO_LONG, 422: _REFUSED, 503: _FAILED},
    ),
    "POST /v1/embeddings": Operation(
        id="create_embeddings",
        summary="Embed texts",
        tag=TAG,
        description="By the model that embeds memories here. Nothing is stored.",
        body=Body(EMBEDDING_REQUEST, {"model": "text-embedding-3-small", "input": ["I live in York.", "我住在约克。"]}),
        answers={
            200: Answer(
                EMBEDDING_ANSWER,
                {
                    "object": "list",
                    "data": [{"object": "embedding", "index": 0, "embedding": [0.021, -0.113]}],
                    "model": "local/use-m3-512",
                    "usage": {"prompt_tokens": 4, "total_tokens": 4},
                },
            )
        },
        problems={
            404: Problem(NO_MODEL, "model_not_found", "The model 'ada' does not exist.", {"model": []}),
            503: Problem(NO_EMBEDDER, "model_unavailable", "The embedding model cannot be reached at the moment."),
        },
    ),
    "POST /v1/responses": Operation(
        id="create_response",
        summary="Make a response with memory",
        tag=TAG,
        description="The same turn as a chat completion, for clients of OpenAI's newer endpoint.",
        parameters=[SESSION, TASK],
        body=Body(RESPONSE_REQUEST, {"model": "jiyi", "input": MESSAGE["content"]}),
        answers={
            200: [
                Answer(RESPONSE_ANSWER, RESPONSE_EXAMPLE, "The response, or its events, with `stream: true`."),
                Answer(
                    event("ResponseEvent", "`data` is an event of OpenAI's API; events are named by their type."),
                    RESPONSE_STREAM,
                    media_type=STREAM,
                ),
            ]
        },
        problems={
            404: [
                _NO_SESSION,
                Problem(
                    NO_PREVIOUS,
                    "previous_response_not_found",
                    "Previous response with id 'resp_1' not found.",
                    {"previous_response_id": []},
                ),
            ],
            413: _TOO_LONG,
            422: _REFUSED,
            503: _FAILED,
        },
    ),
    "GET /v1/responses/{response_id}": Operation(
        id="get_response",
        summary="Get a stored response",
        tag=TAG,
        description="Without the figures and most parameters of its time, which are not kept.",
        parameters=[OpenApiParameter("response_id", str, OpenApiParameter.PATH, True, "ID of the response.")],
        answers={200: Answer(RESPONSE_ANSWER, RESPONSE_EXAMPLE)},
    ),
    "GET /v1/models": Operation(
        id="list_models",
        summary="List models",
        tag=TAG,
        answers={200: Answer(MODEL_LIST, {"object": "list", "data": [MODEL_EXAMPLE]})},
    ),
    "GET /v1/models/{model}": Operation(
        id="get_model",
        summary="Get a model",
        tag=TAG,
        parameters=[OpenApiParameter("model", str, OpenApiParameter.PATH, True, "Name of the model.")],
        answers={200: Answer(MODEL_OBJECT, MODEL_EXAMPLE)},
        problems={404: Problem(NO_SUCH_MODEL, "model_not_found", "The model 'x' does not exist.", {"model": []})},
    ),
}
OPERATIONS = {name: replace(operation, errors=OPENAI_ERROR) for name, operation in _OPERATIONS.items()}
