"""Errors in OpenAI's shape: ``{"error": {"message", "type", "param", "code"}}``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from rest_framework.response import Response

from apps.core.errors import InvalidInput, JiyiError, NotFound
from apps.core.http import error_body, handle_exception
from apps.core.operations import ErrorShape

_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
}
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
