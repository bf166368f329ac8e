"""What can go wrong. Everything is a `JiyiError`; what the server refuses is an `APIError` of the kind it names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class JiyiError(Exception):
    """Base of all errors of this library."""


class NotConfigured(JiyiError):
    """There is no token: none was given, `JIYI_TOKEN` is not set, and nobody logged in with the command line."""


class ConnectionFailed(JiyiError):
    """The server was not reached, or the connection was lost before its answer was complete."""


class TimedOut(ConnectionFailed):
    """The server did not answer in time."""


class UnexpectedAnswer(JiyiError):
    """The answer is not of the API: probably another server, a proxy, or a version that does not fit."""


class APIError(JiyiError):
    """The server refused a request.

    `status` is the HTTP status, `code` stable and machine-readable, `message` a sentence, and `fields` has the reasons
    by field or what is needed to react. `retry_after` is in seconds, if the server names it.
    """

    def __init__(
        self, *, status: int, code: str, message: str, fields: Mapping[str, Any], retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.fields = dict(fields)
        self.retry_after = retry_after


class InvalidRequest(APIError):
    """400: the body or a parameter is not acceptable; nothing was changed."""


class Unauthenticated(APIError):
    """401: the token is missing, unknown, revoked or expired."""


class Forbidden(APIError):
    """403: the token may not do this."""


class NotFound(APIError):
    """404: there is no such object, or it belongs to someone else."""


class Conflict(APIError):
    """409: the object is not in a state that allows this."""


class TooLarge(APIError):
    """413: the content exceeds a limit."""


class ImportRefused(APIError):
    """422: rows of the file cannot be imported, so nothing was; `fields["errors"]` has the reasons by row."""


class Throttled(APIError):
    """429: too many requests; `retry_after` says for how long to wait."""


class ServerError(APIError):
    """5xx: the server failed."""


class Unavailable(ServerError):
    """503: the server cannot answer at the moment."""


class ModelUnavailable(Unavailable):
    """503: the chat model failed. The message is kept as `failed`: retry it with `messages.retry(error.message_id)`."""

    @property
    def message_id(self) -> str | None:
        """The ID of the failed message; None if none was stored."""
        value = self.fields.get("message_id")
        return None if value is None else str(value)


_BY_STATUS: dict[int, type[APIError]] = {
    400: InvalidRequest,
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: TooLarge,
    422: ImportRefused,
    429: Throttled,
    503: Unavailable,
}


def read_error(status: int, body: Any, *, retry_after: str | None = None) -> JiyiError:
    """Return the error that an answer stands for; `UnexpectedAnswer` if it does not have the API's shape."""
    error = body.get("error") if isinstance(body, Mapping) else None
    if not isinstance(error, Mapping) or not isinstance(error.get("code"), str):
        error = {"code": "", "message": f"The server answered {status} without an explanation."}
        if status not in (429, 502, 503, 504):
            return UnexpectedAnswer(f"The server answered {status}, not in the API's format. Is the URL right?")
    kind = _BY_STATUS.get(status, ServerError if status >= 500 else APIError)
    if error["code"] == "model_unavailable":
        kind = ModelUnavailable
    fields = error.get("fields")
    return kind(
        status=status,
        code=error["code"],
        message=str(error.get("message", "")),
        fields=fields if isinstance(fields, Mapping) else {},
        retry_after=_read_seconds(retry_after),
    )


def _read_seconds(value: str | None) -> float | None:
    """Read `Retry-After` in seconds; its other form, a date, is not used by the server."""
    return float(value) if value is not None and value.isascii() and value.isdecimal() else None
