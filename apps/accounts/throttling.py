"""Refusing what is over a token's limit. Named in the settings, so it must not import DRF's views."""

from __future__ import annotations

from typing import Any

import structlog
from redis.exceptions import RedisError
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle, UserRateThrottle

from apps.accounts.models import ApiToken
from apps.accounts.services.throttling import Allowance, count_request

logger = structlog.get_logger(__name__)


class UserThrottle(UserRateThrottle):
    """DRF's count of each user's requests, `THROTTLE_RATE`. If the cache is away or full, nothing is refused."""

    def allow_request(self, request: Request, view: Any) -> bool:
        try:
            return super().allow_request(request, view)
        except (RedisError, OSError) as error:
            logger.warning("throttle.cache_unavailable", cause=type(error).__name__)
            return True


class TokenThrottle(BaseThrottle):
    """429 with ``Retry-After`` over the limit; until then ``RateLimit`` tells how much of it is left.

    The headers are those of draft-ietf-httpapi-ratelimit-headers-10.
    """

    _allowance: Allowance | None = None

    def allow_request(self, request: Request, view: Any) -> bool:
        if not isinstance(request.auth, ApiToken):
            return True
        self._allowance = allowance = count_request(request.auth)
        if allowance is None:
            return True
        view.headers["RateLimit-Policy"] = f'"token";q={allowance.limit.requests};w={allowance.limit.seconds}'
        view.headers["RateLimit"] = f'"token";r={allowance.remaining};t={allowance.reset_seconds}'
        return not allowance.is_exceeded

    def wait(self) -> float | None:
        return self._allowance.reset_seconds if self._allowance else None
