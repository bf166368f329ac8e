"""Limits counted in the shared cache: requests of a token (T4), and guesses at tokens from one address.

The server of the cache increases the counts, so they are right however many processes answer. If it cannot be asked,
nothing is refused; one that hangs is left alone for a while by `apps.core.cache`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256

import structlog
from django.conf import settings
from django.core.cache import cache
from redis.exceptions import RedisError

from apps.accounts.models import ApiToken
from apps.accounts.types import RequestLimit, parse_limit

logger = structlog.get_logger(__name__)

GUESSING_PERIOD_SECONDS = 60
# How many unknown tokens from an address over the limit are looked up in a period all the same.
LOOKED_UP_ALL_THE_SAME = 10
KNOWN_SECONDS = 30 * 86_400

# ValueError: a count that expired between `add` and `incr`.
_CACHE_ERRORS = (RedisError, OSError, ValueError)


class RecentKeys:
    """Remember keys in this process for some seconds, so that neither cache nor database is asked about them again."""

    def __init__(self, seconds: float, *, most: int = 10_000) -> None:
        self._seconds, self._most = seconds, most
        self._until: dict[str, float] = {}

    def has(self, key: str) -> bool:
        return self._until.get(key, 0.0) > time.monotonic()

    def add(self, key: str) -> None:
        if len(self._until) >= self._most:
            self._until.clear()
        self._until[key] = time.monotonic() + self._seconds

    def remove(self, key: str) -> None:
        self._until.pop(key, None)

    def clear(self) -> None:
        self._until.clear()


class OutageLog:
    """Log `event` when the cache first fails, and not again with every request until something was written to it."""

    def __init__(self, event: str) -> None:
        self._event = event
        self._is_known = False

    @contextmanager
    def tolerate(self, *, writes: bool = True) -> Iterator[None]:
        """Leave the block where the cache cannot be asked. `writes`: that it succeeds shows that all is well again."""
        try:
            yield
        except _CACHE_ERRORS as error:
            if not self._is_known:
                logger.warning(self._event, cause=type(error).__name__)
            self._is_known = True
        else:
            self._is_known = self._is_known and not writes

    def end(self) -> None:
        self._is_known = False


known_tokens = RecentKeys(600.0)  # valid tokens of the last minutes: for them the cache need not be asked
guessing_outage = OutageLog("token_guessing.cache_unavailable")
throttle_outage = OutageLog("throttle.cache_unavailable")


def increase(key: str, *, kept_seconds: int) -> int:
    """Return a count in the cache after increasing it by one; right however many processes do so."""
    if cache.add(key, 1, kept_seconds):
        return 1
    return int(cache.incr(key))


# Requests of a token, of all its end users together


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left of a token's limit in the current period, which ends in `reset_seconds`."""

    limit: RequestLimit
    remaining: int
    reset_seconds: int
    is_exceeded: bool


def count_request(token: ApiToken, *, now: float | None = None) -> Allowance | None:
    """Count one request of the token; None where it has no limit or the cache cannot be asked.

    Each period has a count of its own (60 a minute: from one full minute to the next). `now`: Unix time in seconds.
    """
    if not token.throttle:
        return None
    limit, now = parse_limit(token.throttle), time.time() if now is None else now
    period = int(now // limit.seconds)
    with throttle_outage.tolerate():
        count = increase(f"token_requests:{token.pk[:32]}:{period}", kept_seconds=2 * limit.seconds)
        return Allowance(
            limit=limit,
            remaining=max(0, limit.requests - count),
            reset_seconds=max(1, math.ceil((period + 1) * limit.seconds - now)),
            is_exceeded=count > limit.requests,
        )
    return None


# Guesses at tokens: from an address with many refused ones in a minute, only known ones are looked up. So an address
# that sends a valid token is not shut out by what others send from there, and a few unknown ones are looked up all the
# same, lest one that was long unused be refused.


def digest_token(text: str) -> str:
    """Return the digest that a token is known by here; nobody can make a token of it."""
    return sha256(text.encode(errors="surrogateescape")).hexdigest()[:40]


def is_known_here(digest: str) -> bool:
    """Whether this process has seen the token to be valid a moment ago; asks nobody."""
    return known_tokens.has(digest)


def find_wait(*, address: str | None, digest: str, door: str) -> int | None:
    """Return the seconds that an address has to wait before a token is looked at; None where it need not.

    `digest`: of the token; empty where it cannot be told from others.
    """
    now = time.time()
    period = int(now // GUESSING_PERIOD_SECONDS)
    count = _name_count(door, address, period)
    with guessing_outage.tolerate(writes=False):
        refused = cache.get(count) or 0
        if refused < settings.TOKEN_FAILURES_PER_MINUTE or (digest and cache.get(_name_known(digest))):
            return None
        kept_seconds = 2 * GUESSING_PERIOD_SECONDS
        if digest and increase(f"{count}:looked_up", kept_seconds=kept_seconds) <= LOOKED_UP_ALL_THE_SAME:
            return None
        return max(1, math.ceil((period + 1) * GUESSING_PERIOD_SECONDS - now))
    return None


def count_refusal(*, address: str | None, digest: str, door: str) -> None:
    """Count a token, or whatever else was sent to `door`, that was refused."""
    if digest:
        known_tokens.remove(digest)
    period = int(time.time() // GUESSING_PERIOD_SECONDS)
    with guessing_outage.tolerate():
        increase(_name_count(door, address, period), kept_seconds=2 * GUESSING_PERIOD_SECONDS)
        if digest:
            cache.delete(_name_known(digest))


def note_valid(digest: str) -> None:
    """Keep in mind that a token is valid; asks the cache once in a while only."""
    if known_tokens.has(digest):
        return
    with guessing_outage.tolerate():
        cache.set(_name_known(digest), 1, KNOWN_SECONDS)
        known_tokens.add(digest)


def _name_count(door: str, address: str | None, period: int) -> str:
    return f"refused:{door}:{address}:{period}"


def _name_known(digest: str) -> str:
    return f"valid_token:{digest}"
