"""The arithmetic of the benchmarks."""

from __future__ import annotations

import pytest

from benchmarks.figures import (
    Call,
    Comparison,
    Pair,
    Slowdown,
    Spread,
    compare,
    compare_ends,
    compare_first_tokens,
    get_slowdown,
    get_spread,
)


def test_percentiles_are_interpolated_whatever_the_order() -> None:
    assert get_spread([3.0, 1.0, 2.0]) == Spread(p50=2.0, p95=2.9)
    assert get_spread([float(value) for value in range(101)]) == Spread(p50=50.0, p95=95.0)


def test_the_overhead_is_of_pairs_and_not_of_percentiles() -> None:
    # The machine was slow during the second pair: both took longer, and what was added did not.
    assert compare([30.0, 130.0, 31.0], [10.0, 110.0, 11.0]) == Comparison(
        turn=Spread(p50=31.0, p95=120.1), direct=Spread(p50=11.0, p95=100.1), overhead=Spread(p50=20.0, p95=20.0)
    )


def test_times_without_a_partner_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        compare([1.0, 2.0, 3.0], [1.0, 2.0])


def test_first_tokens_and_ends_are_compared_apart() -> None:
    pairs = [
        Pair(turn=Call(first_token_ms=20.0, end_ms=40.0), direct=Call(first_token_ms=5.0, end_ms=6.0)),
        Pair(turn=Call(first_token_ms=20.0, end_ms=40.0), direct=Call(first_token_ms=5.0, end_ms=6.0)),
    ]
    assert compare_first_tokens(pairs).overhead == Spread(p50=15.0, p95=15.0)
    assert compare_ends(pairs).overhead == Spread(p50=34.0, p95=34.0)


def test_a_slowdown_is_the_ratio_of_the_percentiles() -> None:
    assert get_slowdown(idle=[10.0, 20.0, 30.0], busy=[22.0, 25.0, 28.0, 31.0]) == Slowdown(
        idle=Spread(p50=20.0, p95=29.0), busy=Spread(p50=26.5, p95=30.55), ratio_p50=1.32, ratio_p95=1.05
    )
