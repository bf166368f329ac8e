"""Going on without a cache that cannot be asked: what limits by it then refuses nothing."""

from __future__ import annotations

import time

import structlog

logger = structlog.get_logger(__name__)

PAUSE_SECONDS = 10.0
"""How long a cache that could not be asked is left alone: one that hangs would hold up every request."""


class Outage:
    """Whether the cache could be asked, as far as this process knows; `event` is logged when it first could not."""

    def __init__(self, event: str) -> None:
        self._event = event
        self._is_known = False
        self._ends_at = 0.0

    def is_now(self) -> bool:
        return self._is_known and time.monotonic() < self._ends_at

    def begin(self, error: Exception) -> None:
        if not self._is_known:  # once, not with every request
            logger.warning(self._event, cause=type(error).__name__)
        self._is_known, self._ends_at = True, time.monotonic() + PAUSE_SECONDS

    def end(self) -> None:
        self._is_known = False
