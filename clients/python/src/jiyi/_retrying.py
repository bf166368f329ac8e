"""When to send a request again, and after how long. Pure."""

from __future__ import annotations

from typing import Any

from jiyi._requests import Request
from jiyi.errors import APIError, ConnectionFailed, JiyiError, ModelUnavailable, Throttled

FIRST_DELAY = 0.5
MAX_DELAY = 30.0
"""In seconds. A server that asks for a longer break gets its error passed on."""

_PASSING = frozenset({502, 503, 504})


def get_delay(request: Request[Any], error: JiyiError, *, attempt: int, retries: int, jitter: float) -> float | None:
    """Return the seconds to wait before sending a request again; None to give up.

    `attempt` counts from 0, `jitter` is from 0 to 1. What was throttled was not carried out, so it is always repeated;
    all else only if the request is repeatable. A model that failed is not asked again unless the caller retries the
    message: the failure is the outcome of that message.
    """
    if attempt >= retries:
        return None
    if isinstance(error, ModelUnavailable):
        return None
    if not isinstance(error, Throttled):
        passing = isinstance(error, ConnectionFailed) or (isinstance(error, APIError) and error.status in _PASSING)
        if not (passing and request.repeatable):
            return None
    backoff = FIRST_DELAY * 2.0**attempt * (0.5 + jitter / 2)
    asked = error.retry_after if isinstance(error, APIError) and error.retry_after is not None else 0.0
    delay = max(min(backoff, MAX_DELAY), asked)
    return delay if delay <= MAX_DELAY else None
