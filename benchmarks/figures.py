"""From times of single calls to the figures of a comparison. Pure: no clock, no network."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Call:
    """Milliseconds from sending a request to the first text of the reply, and to the end of the response."""

    first_token_ms: float
    end_ms: float


@dataclass(frozen=True, slots=True)
class Pair:
    """A turn, and the same call straight to the model, made one after the other."""

    turn: Call
    direct: Call


@dataclass(frozen=True, slots=True)
class Spread:
    """Median and 95th percentile, in milliseconds."""

    p50: float
    p95: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """`overhead` is the spread of the differences within each pair, not the difference of the spreads."""

    turn: Spread
    direct: Spread
    overhead: Spread


@dataclass(frozen=True, slots=True)
class Slowdown:
    """How long the same thing takes while something else goes on, and how many times as long that is."""

    idle: Spread
    busy: Spread
    ratio_p50: float
    ratio_p95: float


def get_first_tokens(calls: Iterable[Call]) -> list[float]:
    """Return the milliseconds to the first token of each call."""
    return [call.first_token_ms for call in calls]


def get_ends(calls: Iterable[Call]) -> list[float]:
    """Return the milliseconds to the end of each call."""
    return [call.end_ms for call in calls]


def get_spread(values: Sequence[float]) -> Spread:
    """Return the percentiles of at least two values, interpolated between neighbours."""
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    return Spread(p50=round(cuts[49], 2), p95=round(cuts[94], 2))


def compare(turns: Sequence[float], direct: Sequence[float]) -> Comparison:
    """Return the figures of paired times; the same position in both is one pair. ValueError unless as many of each."""
    return Comparison(
        turn=get_spread(turns),
        direct=get_spread(direct),
        overhead=get_spread([ours - theirs for ours, theirs in zip(turns, direct, strict=True)]),
    )


def compare_first_tokens(pairs: Sequence[Pair]) -> Comparison:
    """Compare the times to the first token."""
    return compare(get_first_tokens(pair.turn for pair in pairs), get_first_tokens(pair.direct for pair in pairs))


def compare_ends(pairs: Sequence[Pair]) -> Comparison:
    """Compare the times to the end of the response."""
    return compare(get_ends(pair.turn for pair in pairs), get_ends(pair.direct for pair in pairs))


def get_slowdown(*, idle: Sequence[float], busy: Sequence[float]) -> Slowdown:
    """Return the figures of at least two times, in milliseconds, of either kind."""
    before, during = get_spread(idle), get_spread(busy)
    return Slowdown(
        idle=before,
        busy=during,
        ratio_p50=round(during.p50 / before.p50, 2),
        ratio_p95=round(during.p95 / before.p95, 2),
    )
