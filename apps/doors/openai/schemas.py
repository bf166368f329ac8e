"""JSON schemas of what clients of OpenAI's API send and get, for the API document; requests are read by hand."""

from __future__ import annotations

from functools import partial
from typing import Any

from drf_spectacular.utils import OpenApiParameter

from apps.core.errors import JiyiError, ModelUnavailable, NotFound, TooLarge
from apps.core.llm.embedding import DIMENSIONS
from apps.core.operations import EVENTS, Answer, Component, Problem, describe, event

operation = partial(describe, tag="OpenAI-compatible")
_STRING, _OBJECTS = {"type": "string"}, {"type": "array", "items": {"type": "object"}}
_TEXT = {"type": "string", "minLength": 1}


class _Refused(JiyiError):
    """Stand for what the model's server says."""

    status, code = 422, "invalid"


NO_SESSION = Problem(NotFound, "`X-Session-Id` names no session")
TOO_LONG = Problem(TooLarge, "The message is too long")
REFUSED = Problem(
    _Refused, "The model's server refuses the request; its status and error are passed on, a 400 or 404 too"
)
FAILED = Problem(
    ModelUnavailable, "The model failed; the message is kept as `failed` and taken up when it is sent again"
)

SESSION = OpenApiParameter(
    "X-Session-Id",
    str,
    OpenApiParameter.HEADER,
    description="ID of the session to continue. Without it, the history that comes with the request tells which it "
    "is; else a new one is made. The answer has the ID in a header of the same name.",
)
PAUSE = OpenApiParameter(
    "X-Pause-Remembering",
    bool,
    OpenApiParameter.HEADER,
    description="If true, nothing new is remembered from this request; what is remembered is still recalled. The "
    "answer has `X-Remembering-Paused` where remembering is paused: `everywhere`, `space`, `session` or `request`.",
)
TASK = OpenApiParameter(
    "X-Task",
    str,
    OpenApiParameter.HEADER,
    description="Says that this is no conversation but housekeeping of the client, such as `title_generation`. The "
    "model answers it; nothing is recalled, stored or learned.",
)


def _nullable(kind: str, description: str, **more: Any) -> dict[str, Any]:
    return {"type": [kind, "null"], "description": description, **more}


def _object(description: str, *required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "description": description, "required": list(required), "properties": properties}


def _free(description: str) -> dict[str, Any]:
    return {"description": description}


MODEL_NAME = _nullable("string", "A model of the server; `jiyi` stands for the configured one.")
EXTENSION = _object(
    "What the turn found: the session, what pauses remembering, emotion, strategy, memories used and proposed.",
    session_id=_nullable("string", "ID of the session; null if nothing was stored."),
    paused_by=_nullable("string", "What pauses remembering: everywhere, space, session or request; null if nothing."),
)

CHAT_REQUEST = Component(
    "ChatCompletionRequest",
    _object(
        "A chat completion request of OpenAI's API. All other parameters go to the model as they are.",
        "messages",
        messages={
            **_OBJECTS,
            "minItems": 1,
            "description": "The messages: only the new one, or the conversation so far.",
        },
        model=MODEL_NAME,
        stream=_nullable("boolean", "Send the reply as it is written."),
        stream_options=_nullable("object", "With `include_usage`, a last chunk has the usage."),
        store=_nullable("boolean", "If false, nothing is stored or learned; memories are still read."),
        tools=_free("The client's own tools. The answer then comes as the model's server sends it."),
        response_format=_free("A format of the answer, which then comes as the model's server sends it."),
        stop=_free("A string, or a list of strings, at which the reply ends."),
        max_completion_tokens=_nullable("integer", "How long the reply may be, in estimated tokens.", minimum=1),
        user=_free("With a service token: the end user for whom this is."),
    ),
    {"model": "jiyi", "messages": [{"role": "user", "content": "周五我该做什么菜？"}]},
)
CHAT_ANSWERS = [
    Answer(
        Component(
            "ChatCompletion",
            _object(
                "A chat completion of OpenAI's API, with `jiyi` besides where the answer is our own.",
                "choices",
                id=_STRING,
                object=_STRING,
                choices=_OBJECTS,
                jiyi=EXTENSION,
            ),
        ),
        "The completion, or its chunks as a stream, with `stream: true`.",
    ),
    Answer(
        event("ChatCompletionEvent", "`data` is a chunk of the completion; of the last event, `[DONE]`."),
        media_type=EVENTS,
    ),
]

EMBEDDING_REQUEST = Component(
    "EmbeddingRequest",
    {
        **_object(
            "Texts to embed.",
            "input",
            input={
                "description": "A text, or up to 2,048 texts. Not blank, at most 8,192 estimated tokens each, 300,000 "
                "together. Arrays of tokens are not taken.",
                "anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": 2048}],
            },
            model=_nullable("string", "The model that embeds here; `text-embedding-3-small` stands for it."),
            encoding_format=_nullable(
                "string", "How vectors are written: `float` or `base64`.", pattern="^(float|base64)?$"
            ),
            dimensions=_nullable(
                "integer", "Fewer than 1,536 only where that loses nothing.", minimum=1, maximum=DIMENSIONS
            ),
            user=_free("Ignored."),
            safety_identifier=_free("Ignored."),
        ),
        "additionalProperties": False,
    },
    {"model": "text-embedding-3-small", "input": ["I live in York.", "我住在约克。"]},
)
EMBEDDINGS = Component(
    "EmbeddingList",
    _object(
        "Vectors of length 1, in the order of the texts.",
        "object",
        "data",
        "model",
        "usage",
        object=_STRING,
        data={
            "type": "array",
            "items": _object(
                "A vector.",
                "object",
                "index",
                "embedding",
                object=_STRING,
                index={"type": "integer"},
                embedding={"anyOf": [{"type": "array", "items": {"type": "number"}}, _STRING]},
            ),
        },
        model={"type": "string", "description": "The model that made them."},
        usage={"type": "object", "description": "Estimated."},
    ),
)

RESPONSE_REQUEST = Component(
    "ResponseRequest",
    _object(
        "A request for a response, as far as it is supported. What would change the answer and is not supported is "
        "refused, and the error names it; what only describes the client is ignored.",
        "input",
        input={
            "description": "A message, or items: messages, function calls and their outputs, references to items.",
            "anyOf": [_TEXT, {**_OBJECTS, "minItems": 1}],
        },
        model=MODEL_NAME,
        instructions=_nullable("string", "The application's instructions for this response."),
        previous_response_id=_nullable(
            "string", "The response to continue: then `input` is only what is new, and what is stored is the history."
        ),
        stream=_nullable("boolean", "Send events while the response is made."),
        store=_nullable("boolean", "If false, nothing is stored or learned, and nothing can continue from it."),
        tools=_nullable("array", "Functions of the client.", items={"type": "object"}),
        tool_choice=_free("`auto`, `none`, `required`, or functions by name."),
        parallel_tool_calls=_nullable("boolean", "Whether several functions may be called at once."),
        text=_nullable("object", "`format`: text, json_object or json_schema."),
        reasoning=_nullable("object", "`effort` goes to the model."),
        max_output_tokens=_nullable("integer", "How long the reply may be.", minimum=1),
        temperature=_nullable("number", "Goes to the model."),
        top_p=_nullable("number", "Goes to the model."),
        metadata=_nullable("object", "Up to 16 strings, which the response repeats."),
        user=_free("With a service token: the end user for whom this is."),
        safety_identifier=_free("As `user`."),
    ),
    {"model": "jiyi", "input": "What should I cook on Friday?"},
)
RESPONSE = Component(
    "Response",
    _object(
        "A response of OpenAI's API.",
        "id",
        "object",
        "status",
        "output",
        id={"type": "string", "description": "For `previous_response_id`, if it was stored."},
        object=_STRING,
        status={"type": "string", "description": "`completed`, `incomplete`, `in_progress` or `failed`."},
        output={**_OBJECTS, "description": "A message, calls of the client's functions, or both."},
        jiyi=EXTENSION,
    ),
)
RESPONSE_ANSWERS = [
    Answer(RESPONSE, "The response, or its events, with `stream: true`."),
    Answer(
        event("ResponseEvent", "`data` is an event of OpenAI's API; events are named by their type."), media_type=EVENTS
    ),
]

MODEL = Component(
    "Model",
    _object(
        "A model that can be asked for.",
        "id",
        "object",
        "created",
        "owned_by",
        id=_STRING,
        object=_STRING,
        created={"type": "integer"},
        owned_by=_STRING,
    ),
)
MODELS = Component(
    "ModelList",
    _object(
        "The configured chat model, the others of its server, and the embedding model.",
        "object",
        "data",
        object=_STRING,
        data={"type": "array", "items": MODEL.schema},
    ),
)
