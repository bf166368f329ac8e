"""What the endpoints of OpenAI's API share: errors in its shape, who asks, the session, the names of models (T3)."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from typing import Any, NoReturn

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import ApiToken, User
from apps.accounts.selectors import get_user
from apps.accounts.services.people import resolve_person
from apps.accounts.spaces import find_space, list_spaces
from apps.chat.selectors import list_models as list_choices
from apps.chat.turn.run import TurnRun
from apps.chat.turn.types import Failed, OpenTurn, Started, TurnEvent
from apps.conversations.sessions import create_session, get_session
from apps.core import http
from apps.core.db import in_database
from apps.core.errors import InvalidInput, JiyiError, ModelUnavailable, NotFound
from apps.core.http import AsyncAPIView, error_body, handle_exception, read_uuid
from apps.core.llm.client import FROM_ENVIRONMENT, get_chat_model, get_embedder_name
from apps.core.llm.metering import collect_calls
from apps.core.llm.relaying import relay
from apps.core.llm.types import ChatModel
from apps.core.operations import ErrorShape
from apps.core.responses import stream_frames
from apps.costs.ledger import record_rest

# Errors: ``{"error": {"message", "type", "param", "code"}}``

_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_CODES = {"unauthenticated": "invalid_api_key", "throttled": "rate_limit_exceeded", "invalid": None}
_ABOUT_A_PARAMETER = (400, 404)


class ModelNotFound(NotFound):
    """404: there is no model of this name."""

    code = "model_not_found"

    def __init__(self, name: str) -> None:
        super().__init__(f"The model {name!r} does not exist.", fields={"model": ["There is no model of this name."]})


class PreviousResponseNotFound(NotFound):
    """404: there is no such response, or it is somebody else's, or it has not ended well."""

    code = "previous_response_not_found"

    def __init__(self, name: str) -> None:
        message = f"Previous response with id {name!r} not found."
        super().__init__(message, fields={"previous_response_id": [message]})


def refuse(message: str, param: str) -> NoReturn:
    """Refuse a request because of one of its parameters."""
    raise InvalidInput(message, fields={param: [message]})


def read_model(body: Mapping[str, Any]) -> str:
    """Return the name of the model that a request asks for; empty where it names none."""
    model = "" if body.get("model") is None else body["model"]
    if not isinstance(model, str):
        refuse("model must be a string.", "model")
    return model


def encode_error(status: int, error: Mapping[str, Any]) -> dict[str, Any]:
    """Return our error, ``{"code", "message", "fields"}``, in OpenAI's shape."""
    code, fields = error["code"], error["fields"]
    kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    param = next(iter(fields), None) if status in _ABOUT_A_PARAMETER else None
    return {"error": {"message": error["message"], "type": kind, "param": param, "code": _CODES.get(code, code)}}


OPENAI_SHAPE = ErrorShape(
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
                    "param": {"type": ["string", "null"], "description": "The parameter that is wrong, if it is one."},
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


def read_refusal(error: Exception) -> tuple[int, dict[str, Any]] | None:
    """Return status and body of what the model's server answered to the client's own request, if it is that."""
    refusal = error.fields.get("refusal") if isinstance(error, JiyiError) else None
    if refusal is None:
        return None
    answer = refusal["error"]
    known = {name: answer.get(name) for name in ("message", "type", "param", "code")}
    return refusal["status"], {"error": {**known, "type": known["type"] or "invalid_request_error"}}


def describe_error(error: JiyiError) -> dict[str, Any]:
    """Return the error for the middle of a stream, whose status has been sent."""
    refusal = read_refusal(error)
    return refusal[1] if refusal else encode_error(error.status, error_body(error.code, error.message)["error"])


def handle_openai_exception(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """Encode any expected exception, as `apps.core.http.handle_exception` does for the other doors."""
    if refusal := read_refusal(error):
        return Response(refusal[1], status=refusal[0])
    response = handle_exception(error, context)
    if response is not None:
        response.data = encode_error(response.status_code, response.data["error"])
    return response


# What Django itself answers, in the shape of the door that was asked


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer what Django refuses: a host it does not serve, too many parameters."""
    return _reshape(request, http.bad_request(request, exception))


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 404."""
    return _reshape(request, http.page_not_found(request, exception))


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer 500."""
    return _reshape(request, http.server_error(request))


def too_many_refused(request: HttpRequest, wait: int) -> HttpResponse:
    """Answer 429 to somebody who sent too many wrong tokens; `wait`: seconds until the next is looked at."""
    message = f"Too many requests with a wrong token came from your address. Try again in {wait} seconds."
    answer = _reshape(request, JsonResponse(http.error_body("throttled", message), status=429))
    answer["Retry-After"] = str(wait)
    return answer


def _reshape(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    if not request.path.startswith("/v1/"):
        return response
    error = json.loads(response.content)["error"]
    return JsonResponse(encode_error(response.status_code, error), status=response.status_code)


# Views

# How long the status of a stream waits for the model's first word: until then a failure has a status of its own.
FIRST_EVENT_SECONDS = 15.0


class OpenAIView(AsyncAPIView):
    """A view whose errors have OpenAI's shape."""

    error_shape = OPENAI_SHAPE

    def get_exception_handler(self) -> Any:
        return handle_openai_exception


def find_person(request: Request) -> User:
    """Return who asks, and from where: with a service token also by fields of the body (T4)."""
    user = get_user(request)
    token = request.auth
    if isinstance(token, ApiToken) and token.is_service and token.user_id == user.pk:
        body = request.data if isinstance(request.data, Mapping) else {}
        user = resolve_person(token=token, headers=request.headers, body=body)
    return enter_model(user, request.data)


# Before the name of a space, as a client's list of models shows it (P5).
SPACE_MODEL = "jiyi/"


def enter_model(user: User, body: Any) -> User:
    """Return the person as they look from the space that the model's name tells, such as ``jiyi/Novel`` (P5).

    Raises `ModelNotFound` for a space that is not there, or not in sight.
    """
    model = read_model(body) if isinstance(body, Mapping) else ""
    if not model.startswith(SPACE_MODEL):
        return user
    try:
        return user.within(find_space(user, model.removeprefix(SPACE_MODEL)).pk)
    except NotFound:
        raise ModelNotFound(model) from None


async def stream_turn(
    run: TurnRun, encode: Callable[[AsyncIterator[TurnEvent]], AsyncIterator[bytes]], *, headers: Mapping[str, str]
) -> HttpResponseBase:
    """Return the stream of what `encode` makes of a turn's events.

    It waits a while for the first word, and raises what the turn has failed with until then.
    """
    events = run.events()
    seen: list[TurnEvent] = []
    deadline = asyncio.get_running_loop().time() + FIRST_EVENT_SECONDS
    while True:
        upcoming = asyncio.ensure_future(anext(events))
        remaining = deadline - asyncio.get_running_loop().time()
        done, _pending = await asyncio.wait([upcoming], timeout=max(remaining, 0))
        first = upcoming.result() if done else None
        if isinstance(first, Failed):
            raise first.error
        if not isinstance(first, Started):
            break
        seen.append(first)

    async def replay() -> AsyncIterator[TurnEvent]:
        for event in seen:
            yield event
        yield await upcoming
        async for event in events:
            yield event

    response = stream_frames(encode(replay()))
    for name, value in headers.items():
        response[name] = value
    return response


# Sessions

SESSION_HEADER = "X-Session-Id"
# Open WebUI's; it sends the whole chat with every request.
CHAT_HEADER = "X-OpenWebUI-Chat-Id"

# How the IDs of Open WebUI's temporary chats begin.
_TEMPORARY_CHAT = "local:"


def sends_whole_chat(headers: Mapping[str, str]) -> bool:
    """Whether the messages of the request are the whole conversation, so that none before the last means its start."""
    return bool(headers.get(CHAT_HEADER, "").strip()) and not headers.get(SESSION_HEADER, "").strip()


def find_named_session(*, user: User, headers: Mapping[str, str]) -> uuid.UUID | None:
    """Return the session that a request names, None where it names none.

    A chat of Open WebUI gets its own on first use, a temporary one for a temporary chat. Raises `NotFound` for a
    session that is not there or somebody else's.
    """
    if named := headers.get(SESSION_HEADER, "").strip():
        return get_session(user, read_uuid(named), to_change=True).id
    chat = headers.get(CHAT_HEADER, "").strip()
    if not chat:
        return None
    return create_session(user=user, name=chat, temporary=chat.startswith(_TEMPORARY_CHAT)).id


# Pausing what is learned (D5)

# A request's, for itself alone; and the answer's, which tells what paused it.
PAUSE_HEADER, PAUSED_HEADER = "X-Pause-Remembering", "X-Remembering-Paused"


def read_pause(headers: Mapping[str, str]) -> bool:
    """Return whether a request wants nothing to be learned from it. Raises `InvalidInput` for what is no answer."""
    named = headers.get(PAUSE_HEADER, "false").strip().lower()
    if named not in ("true", "false"):
        refuse(f"{PAUSE_HEADER} must be true or false.", PAUSE_HEADER)
    return named == "true"


def describe_headers(turn: OpenTurn, *, stored: bool) -> dict[str, str]:
    """Return the headers that tell where a turn was stored, and what paused remembering, if anything did."""
    if not stored:
        return {}
    paused = {PAUSED_HEADER: turn.given.paused_by} if turn.given.paused_by else {}
    return {SESSION_HEADER: str(turn.session_id), **paused}


# Models

# A name that stands for the default model, whatever it is.
DEFAULT_MODEL = "jiyi"


async def list_models(user: User) -> list[str]:
    """Return the names: the default model's first, then what one may choose, what its server has, the embedding model.

    Last the person's spaces that are not archived.

    A server that lists none is no reason to list nothing.
    """
    model, choices, embedder = await in_database(_read_names)
    spaces = await in_database(_name_spaces, user)
    configured = model.name
    found: list[str] = []
    if hasattr(model, "list_models"):
        try:
            found = await model.list_models()
        except ModelUnavailable:
            if not configured:
                raise
    return list(dict.fromkeys(filter(None, [configured, *choices, *found, DEFAULT_MODEL, embedder, *spaces])))


def _name_spaces(user: User) -> list[str]:
    return [f"{SPACE_MODEL}{space.name}" for space in list_spaces(user).filter(archived=False)]


async def relay_recorded(
    model: ChatModel, body: Mapping[str, Any], *, user: User
) -> AsyncGenerator[dict[str, Any], None]:
    """Relay a request as `apps.core.llm.relaying.relay` does, and record the call for this person at its end (Q1)."""
    async with aclosing(relay(model, body)) as answer:
        with collect_calls() as calls:  # an answer that is streamed goes on after the request has ended
            first = await anext(answer)
        try:
            yield first
            async for event in answer:
                yield event
        finally:
            await answer.aclose()
            if calls:
                await in_database(record_rest, calls, owners={(user.pk, user.data_epoch): 1})


def _read_names() -> tuple[ChatModel, list[str], str]:
    choices = [choice.name for choice in list_choices() if choice.name != FROM_ENVIRONMENT]
    return get_chat_model(), choices, get_embedder_name()
