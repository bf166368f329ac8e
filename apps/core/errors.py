"""The errors a caller can cause or must handle, in the one shape the API promises.

Services raise these; every door (REST, SSE, page, command) only encodes them. Each carries an HTTP status,
a stable machine-readable ``code`` and ``fields`` with what the client needs to react.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class JiyiError(Exception):
    """Base of all expected errors: ``{"error": {"code", "message", "fields"}}`` on the wire, and `headers` with it."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"

    def __init__(self, message: str, *, fields: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.fields: dict[str, Any] = dict(fields or {})
        self.headers: dict[str, str] = {}


class InvalidInput(JiyiError):
    """400: the body or a parameter is not acceptable; nothing was changed."""

    status, code = 400, "invalid"


class Unauthenticated(JiyiError):
    """401: the credentials, or what should prove who is meant, cannot be verified."""

    status, code = 401, "unauthenticated"


class Forbidden(JiyiError):
    """403: the credentials are good, but not for this."""

    status, code = 403, "forbidden"


class NotFound(JiyiError):
    """404: no such object, or it belongs to someone else: the answer is the same."""

    status, code = 404, "not_found"


class Conflict(JiyiError):
    """409: the object is not in a state that allows this."""

    status, code = 409, "conflict"


class Outdated(Conflict):
    """409: the object has changed since it was read; nothing was written."""


class TooLarge(JiyiError):
    """413: the content passes a size limit."""

    status, code = 413, "too_large"


class ModelUnavailable(JiyiError):
    """503: the chat model failed, timed out, or dropped its stream (C6)."""

    status, code = 503, "model_unavailable"


class Unavailable(JiyiError):
    """503: a store that this needs is away. `retry_after`: seconds until it is worth trying again."""

    status, code = 503, "unavailable"
    retry_after: ClassVar[int] = 5

    def __init__(self, message: str, *, fields: Mapping[str, Any] | None = None) -> None:
        super().__init__(message, fields=fields)
        self.headers = {"Retry-After": str(self.retry_after)}


class StorageFull(Unavailable):
    """503: a disk is full. What was sent is stored as a whole or not at all."""

    code = "storage_full"
    retry_after = 60
