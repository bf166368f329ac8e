"""Figures of turns for Prometheus, of this process: how long they take, and why they fail (docs/observability.md)."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160)

TURN_SECONDS = Histogram("jiyi_turn_seconds", "Turns from beginning to end", ["outcome"], buckets=_SECONDS)
FIRST_TOKEN_SECONDS = Histogram(
    "jiyi_turn_first_token_seconds", "Turns from beginning to the first piece of the reply", buckets=_SECONDS
)
TURN_FAILURES = Counter("jiyi_turn_failures", "Turns that failed after their message was stored", ["reason"])
