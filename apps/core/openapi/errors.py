"""The errors of every operation, in the one shape (SPEC, API) or in that of the API that a door speaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.core.openapi.types import JSON, ErrorShape, Operation, Problem
from apps.core.outages import NO_DATABASE, NO_SPACE

ERROR_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "Every error has this shape.",
    "required": ["error"],
    "additionalProperties": False,
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "fields"],
            "additionalProperties": False,
            "properties": {
                "code": {
                    "type": "string",
                    "description": "Stable, for programs: `invalid`, `unauthenticated`, `forbidden`, `not_found`, "
                    "`conflict`, `too_large`, `unsupported_media_type`, `import_refused`, `throttled`, "
                    "`model_unavailable`, `unavailable`, `storage_full`. "
                    "There may be more in future versions.",
                },
                "message": {"type": "string", "description": "One sentence for people."},
                "fields": {
                    "type": "object",
                    "additionalProperties": True,
                    "description": "What is wrong with which field, or details such as `message_id`. Often empty.",
                },
            },
        }
    },
}


@dataclass(frozen=True)
class SharedError:
    """An error of many operations; `name` is that of its component."""

    name: str
    description: str
    problems: Sequence[Problem]
    headers: Mapping[str, Any] = field(default_factory=dict)


_RETRY_AFTER = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}

SHARED: dict[int, SharedError] = {
    400: SharedError(
        "BadRequest",
        "The body or a parameter is not valid. Nothing was changed.",
        [
            Problem("A field that does not exist", "invalid", "vlaue: This field cannot be set here.",
                    {"vlaue": ["This field cannot be set here."]}),
            Problem("A parameter out of its range", "invalid", "limit must be a whole number from 1 to 200.",
                    {"limit": ["Must be a whole number from 1 to 200."]}),
        ],
    ),
    401: SharedError(
        "Unauthorized",
        "There is no valid token, and nobody is logged in.",
        [Problem("No token", "unauthenticated", "Authentication credentials were not provided.")],
        {"WWW-Authenticate": {"description": "How to authenticate.", "schema": {"type": "string"}}},
    ),
    403: SharedError(
        "Forbidden",
        "The token's scopes do not allow this, or a browser's request has no CSRF token.",
        [
            Problem("A weaker token", "forbidden", "This needs a token with the scope write.", {"scope": ["write"]}),
            Problem("No CSRF token", "forbidden", "CSRF Failed: CSRF token missing."),
        ],
    ),
    404: SharedError(
        "NotFound",
        "It does not exist, or belongs to somebody else.",
        [Problem("No such object", "not_found", "This object does not exist.")],
    ),
    413: SharedError(
        "TooLarge",
        "The body, or a text in it, is too large.",
        [Problem("A large body", "too_large", "The body has over 16,777,216 bytes.")],
    ),
    415: SharedError(
        "UnsupportedMediaType",
        "The body does not have the media type that is documented.",
        [Problem("Plain text", "unsupported_media_type", 'Unsupported media type "text/plain" in request.')],
    ),
    429: SharedError(
        "TooManyRequests",
        "There were too many requests; only some installations and tokens have a limit.",
        [Problem("Too many", "throttled", "Request was throttled. Expected available in 30 seconds.")],
        _RETRY_AFTER,
    ),
    503: SharedError(
        "Unavailable",
        "The database cannot be reached at the moment, or has no space left.",
        [
            Problem("No database", "unavailable", NO_DATABASE),
            Problem("A full disk", "storage_full", NO_SPACE),
        ],
        _RETRY_AFTER,
    ),
}  # fmt: skip


ONE_SHAPE = ErrorShape("Error", ERROR_SCHEMA, lambda _status, error: {"error": dict(error)})


def describe_error(
    status: int, description: str, problems: Sequence[Problem], headers: Mapping[str, Any], shape: ErrorShape
) -> dict[str, Any]:
    """Return a response object with the problems as its examples."""
    examples = {
        problem.when: {
            "value": shape.encode(
                status, {"code": problem.code, "message": problem.message, "fields": dict(problem.fields)}
            )
        }
        for problem in problems
    }
    response: dict[str, Any] = {"description": description}
    if headers:
        response["headers"] = headers
    schema = {"$ref": f"#/components/schemas/{shape.name}"}
    response["content"] = {JSON: {"schema": schema, "examples": examples}}
    return response


_shapes: dict[str, ErrorShape] = {}


def list_components() -> dict[str, dict[str, Any]]:
    """Return the components that the errors of the operations described so far refer to."""
    responses = {
        _name_response(error, shape): describe_error(status, error.description, error.problems, error.headers, shape)
        for shape in _shapes.values()
        for status, error in SHARED.items()
    }
    return {"schemas": {shape.name: dict(shape.schema) for shape in _shapes.values()}, "responses": responses}


def _name_response(error: SharedError, shape: ErrorShape) -> str:
    return error.name if shape is ONE_SHAPE else f"{shape.name}{error.name}"


def list_shared_statuses(described: Mapping[str, Any]) -> set[int]:
    """Return which errors an operation has by what it takes; `described` is its operation object without them.

    Everything can be a bad request, by its headers if by nothing else.
    """
    statuses = {400, 429, 503} | ({401, 403} if described.get("security") else set())
    if any(parameter["in"] == "path" for parameter in described.get("parameters", [])):
        statuses.add(404)
    if "requestBody" in described:
        statuses |= {413, 415}
    return statuses


def list_errors(shared: set[int], operation: Operation) -> dict[str, dict[str, Any]]:
    """Return the error responses by status: references to the shared ones, except where the operation adds its own."""
    shape = operation.errors or ONE_SHAPE
    _shapes[shape.name] = shape
    responses: dict[str, dict[str, Any]] = {}
    for status in sorted(shared | set(operation.problems)):
        common, own = SHARED[status] if status in shared else None, operation.list_problems(status)
        if common and not own:
            responses[str(status)] = {"$ref": f"#/components/responses/{_name_response(common, shape)}"}
            continue
        reasons = [common.description] if common else []
        reasons += [f"{problem.when}." for problem in own]
        problems = [*common.problems, *own] if common else own
        headers = common.headers if common else {}
        responses[str(status)] = describe_error(status, " ".join(reasons), problems, headers, shape)
    return responses
