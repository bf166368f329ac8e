"""Limiting the requests of a token, all its end users together, by a count in the shared cache (T4).

A count for each period that the limit names (60 a minute: from one full minute to the next), increased by the server
of the cache, so that it is right however many processes answer. If the cache cannot be asked, nothing is refused.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from django.core.cache import cache
from redis.exceptions import RedisError

from apps.accounts.models import ApiToken
from apps.accounts.services.cache_outage import Outage
from apps.accounts.types import RequestLimit, parse_limit


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left of a token's limit in the current period, which ends in `reset_seconds`."""

    limit: RequestLimit
    remaining: int
    reset_seconds: int
    is_exceeded: bool


_outage = Outage("throttle.cache_unavailable")


def count_request(token: ApiToken, *, now: float | None = None) -> Allowance | None:
    """Count one request of the token; None where it has no limit or the cache cannot be asked.

    `now`: Unix time in seconds.
    """
    if not token.throttle or _outage.is_now():
        return None
    limit, now = parse_limit(token.throttle), time.time() if now is None else now
    period = int(now // limit.seconds)
    try:
        count = increase(f"token_requests:{token.pk[:32]}:{period}", kept_seconds=2 * limit.seconds)
    except (RedisError, OSError) as error:
        _outage.begin(error)
        return None
    _outage.end()
    return Allowance(
        limit=limit,
        remaining=max(0, limit.requests - count),
        reset_seconds=max(1, math.ceil((period + 1) * limit.seconds - now)),
        is_exceeded=count > limit.requests,
    )


def increase(key: str, *, kept_seconds: int) -> int:
    """Return a count in the cache after increasing it by one; right however many processes do so."""
    if cache.add(key, 1, kept_seconds):
        return 1
    return int(cache.incr(key))
