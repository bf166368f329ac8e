"""What the benchmarks invent is always the same, and has the properties that they claim."""

from __future__ import annotations

from itertools import pairwise

from benchmarks.running import Spread, get_spread
from benchmarks.scale import BIG, ORDINARY, STEADY_GROUP, list_groups, share_memories
from benchmarks.turn_overhead import Comparison, compare


def test_percentiles_are_interpolated_whatever_the_order() -> None:
    assert get_spread([3.0, 1.0, 2.0]) == Spread(p50=2.0, p95=2.9)
    assert get_spread([float(value) for value in range(101)]) == Spread(p50=50.0, p95=95.0)


def test_the_overhead_is_of_pairs_and_not_of_percentiles() -> None:
    # The machine was slow during the second pair: both took longer, and what was added did not.
    assert compare([(30.0, 10.0), (130.0, 110.0), (31.0, 11.0)]) == Comparison(
        turn=Spread(p50=31.0, p95=120.1), direct=Spread(p50=11.0, p95=100.1), overhead=Spread(p50=20.0, p95=20.0)
    )


def test_shares_add_up_and_never_shrink() -> None:
    sizes = [10_000, 100_000, 1_000_000]
    shares, groups = share_memories(sizes, users=2_000, big=50_000), list_groups(2_000)
    assert [sum(counts) for counts in shares] == sizes
    assert [counts[0] for counts in shares] == [5_000, 50_000, 50_000]
    for before, after in pairwise(shares):
        assert all(few <= many for few, many in zip(before, after, strict=True))
        assert [before[member] for member in groups[STEADY_GROUP]] == [after[member] for member in groups[STEADY_GROUP]]
    assert {shares[-1][member] for member in groups[ORDINARY]} <= {475, 476}
    assert sorted(member for name in (ORDINARY, STEADY_GROUP, BIG) for member in groups[name]) == list(range(2_000))
