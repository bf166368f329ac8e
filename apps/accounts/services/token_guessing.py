"""A limit to guessing tokens: from an address with many refused ones in a minute, only known ones are looked up.

Counted in the shared cache, never in the database. Tokens that were made or used of late are known by their digest, so
an address that sends a valid token is not shut out by what others send from there; and a few unknown ones are looked up
each minute all the same, lest one that was long unused be refused. If the cache cannot be asked, nothing is refused.
"""

from __future__ import annotations

import math
import time
from hashlib import sha256

from django.conf import settings
from django.core.cache import cache
from redis.exceptions import RedisError

from apps.accounts.services.cache_outage import Outage
from apps.accounts.services.throttling import increase

PERIOD_SECONDS = 60
LOOKED_UP_ALL_THE_SAME = 10
"""How many unknown tokens from an address over the limit are looked up in a period."""

KNOWN_SECONDS = 30 * 86_400
NOTED_EVERY_SECONDS = 600.0
MOST_KNOWN_HERE = 10_000

_outage = Outage("token_guessing.cache_unavailable")


class _KnownHere:
    """Valid tokens that this process has seen in the last minutes: for them the cache need not be asked."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def has(self, digest: str) -> bool:
        return self._until.get(digest, 0.0) > time.monotonic()

    def add(self, digest: str) -> None:
        if len(self._until) >= MOST_KNOWN_HERE:
            self._until.clear()
        self._until[digest] = time.monotonic() + NOTED_EVERY_SECONDS

    def remove(self, digest: str) -> None:
        self._until.pop(digest, None)


_known_here = _KnownHere()


def digest_token(text: str) -> str:
    """Return by what a token is known here; nobody can make a token of it."""
    return sha256(text.encode(errors="surrogateescape")).hexdigest()[:40]


def is_known_here(digest: str) -> bool:
    """Whether this process has seen the token to be valid a moment ago; asks nobody."""
    return _known_here.has(digest)


def find_wait(*, address: str | None, digest: str = "", door: str = "token", now: float | None = None) -> int | None:
    """Return the seconds that an address has to wait before a token is looked at; None where it need not.

    `digest`: of the token; empty where it cannot be told from others. `now`: Unix time in seconds.
    """
    if _outage.is_now():
        return None
    now = time.time() if now is None else now
    period = int(now // PERIOD_SECONDS)
    try:
        refused = cache.get(_name_count(door, address, period)) or 0
        if refused < settings.TOKEN_FAILURES_PER_MINUTE or (digest and cache.get(_name_known(digest))):
            return None
        if digest:
            looked_up = increase(f"{_name_count(door, address, period)}:looked_up", kept_seconds=2 * PERIOD_SECONDS)
            if looked_up <= LOOKED_UP_ALL_THE_SAME:
                return None
    except (RedisError, OSError, ValueError) as error:
        _outage.begin(error)
        return None
    _outage.end()
    return max(1, math.ceil((period + 1) * PERIOD_SECONDS - now))


def count_refusal(*, address: str | None, digest: str = "", door: str = "token", now: float | None = None) -> None:
    """Count a token, or whatever else was sent to `door`, that was refused."""
    if digest:
        _known_here.remove(digest)
    if _outage.is_now():
        return
    period = int((time.time() if now is None else now) // PERIOD_SECONDS)
    try:
        increase(_name_count(door, address, period), kept_seconds=2 * PERIOD_SECONDS)
        if digest:
            cache.delete(_name_known(digest))
    except (RedisError, OSError, ValueError) as error:
        _outage.begin(error)


def note_valid(digest: str) -> None:
    """Keep in mind that a token is valid; asks the cache once in a while only."""
    if _known_here.has(digest) or _outage.is_now():
        return
    try:
        cache.set(_name_known(digest), 1, KNOWN_SECONDS)
    except (RedisError, OSError) as error:
        _outage.begin(error)
        return
    _known_here.add(digest)


def _name_count(door: str, address: str | None, period: int) -> str:
    return f"refused:{door}:{address}:{period}"


def _name_known(digest: str) -> str:
    return f"valid_token:{digest}"
