"""Refusing what is over a token's limit. Named in the settings, so it must not import DRF's views."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from apps.accounts.models import ApiToken
from apps.accounts.services.throttling import Allowance, count_request


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
