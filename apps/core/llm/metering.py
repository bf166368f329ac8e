"""Count what calls of models take: tokens as their servers counted them, and time (Q1). Pure.

Clients of model servers measure each of their calls with `measure`; whoever wants to know opens `collect_calls` around
what makes them. What answers in this process (the offline model, the local embedder) costs nothing and is no call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from apps.core.text.clean import estimate_tokens

Job = Literal["reply", "tool_round", "extraction", "summary", "embedding", "tidying"]

# More than any call has; what a server says beyond it is nonsense, and must fit into a column of the ledger.
MAX_TOKENS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call. `tokens_cached`: those of `tokens_in` that the server did not have to read again."""

    tokens_in: int
    tokens_out: int
    tokens_cached: int = 0


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of a model, as it ended. `estimated`: the server did not say how many tokens there were.

    `model`: its name here. `at`: when it began; `ms`: how long it took.
    """

    job: Job
    model: str
    usage: Usage
    estimated: bool
    at: datetime
    ms: int


@dataclass(slots=True)
class Meter:
    """A call under way. Its client notes here what the server counts, and what it answers in case it does not count."""

    job: Job
    usage: Usage | None = None
    answer: list[str] = field(default_factory=list)
    heard: bool = False

    def hear(self, text: str, usage: Usage | None) -> None:
        """Take the next part of the answer; the last usage holds, as some servers count along."""
        self.heard = True
        if text:
            self.answer.append(text)
        self.usage = usage or self.usage


_collected: ContextVar[list[ModelCall] | None] = ContextVar("model_calls", default=None)


@contextmanager
def collect_calls() -> Iterator[list[ModelCall]]:
    """Collect the calls that are made in the block, in threads and tasks too that begin with a copy of its context."""
    calls: list[ModelCall] = []
    token = _collected.set(calls)
    try:
        yield calls
    finally:
        _collected.reset(token)


def get_calls() -> list[ModelCall]:
    """Return the calls that are collected here, to be recorded and removed; an empty list where none are."""
    calls = _collected.get()
    return [] if calls is None else calls


@contextmanager
def measure(job: Job, *, model: str, sent: Callable[[], Iterable[str]]) -> Iterator[Meter]:
    """Measure one call, which ends with the block, whatever ends it.

    `sent`: the texts of the request, read where its tokens have to be estimated. A call that failed before its server
    said anything is none: it costs nothing.
    """
    calls, meter, at, start = _collected.get(), Meter(job), datetime.now(UTC), time.perf_counter()
    try:
        yield meter
    finally:
        if calls is not None and meter.heard:
            usage = meter.usage or Usage(sum(map(estimate_tokens, sent())), estimate_tokens("".join(meter.answer)))
            ms = round((time.perf_counter() - start) * 1000)
            calls.append(ModelCall(meter.job, model, usage, meter.usage is None, at, ms))


def read_usage(answer: Any) -> Usage | None:
    """Return the usage that an answer or an event of a stream tells, None where it tells none that can be read.

    What was cached: OpenAI and vLLM name it in details, DeepSeek and Moonshot beside the sums, llama.cpp in `timings`.
    """
    usage = _read_object(answer, "usage")
    tokens_in, total = _read(usage.get("prompt_tokens")), _read(usage.get("total_tokens"))
    if not tokens_in:  # servers that do not count say 0; no request has no tokens
        return None
    # xAI and Gemini leave the model's thoughts out of the completion, and count them in the total, as they charge them.
    tokens_out = max(_read(usage.get("completion_tokens")), total - tokens_in)
    told = (
        _read_object(usage, "prompt_tokens_details").get("cached_tokens"),
        usage.get("prompt_cache_hit_tokens"),
        usage.get("cached_tokens"),
        _read_object(answer, "timings").get("cache_n"),
    )
    tokens_cached = next((count for count in map(_read, told) if count), 0)
    return Usage(tokens_in, tokens_out, min(tokens_cached, tokens_in))


def _read_object(value: Any, name: str) -> dict[str, Any]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _read(count: Any) -> int:
    """The number of tokens, 0 for what is none or nonsense."""
    is_count = isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MAX_TOKENS
    return count if is_count else 0
