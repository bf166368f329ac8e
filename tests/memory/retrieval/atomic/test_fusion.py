"""Two scores of different kinds in one ranking."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.memory.retrieval.atomic.fusion import fuse_scores, standardize

numbers = st.floats(min_value=-1_000, max_value=1_000).map(lambda number: round(number, 3))
pairs = st.lists(st.tuples(numbers, st.none() | numbers), min_size=1, max_size=50)


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def test_standard_scores_by_hand() -> None:
    assert standardize([2, 4, 4, 4, 5, 5, 7, 9]) == [-1.5, -0.5, -0.5, -0.5, 0, 0, 1, 2]


def test_what_is_not_known_is_average() -> None:
    assert standardize([1, None, 3]) == [-1, 0, 1]
    assert standardize([None, None]) == [0, 0]
    assert standardize([]) == []


@pytest.mark.parametrize("score", [0.0, 0.1, 1e-12, 1234.5])
def test_equal_scores_say_nothing(score: float) -> None:
    assert standardize([score] * 3) == [0, 0, 0]
    assert standardize([score, score * (1 + 1e-15)]) == [0, 0]


@pytest.mark.spec("A4")
def test_both_arms_count_alike_by_hand() -> None:
    scores = fuse_scores(keyword=[8.0, 0.0, 4.0], semantic=[0.2, 0.8, None])
    deviation = math.sqrt(32 / 3)
    first = (4 / deviation - 1) / 2
    assert scores == pytest.approx([logistic(first), logistic(-first), 0.5])


@pytest.mark.spec("A4")
def test_one_arm_alone_ranks_by_itself() -> None:
    assert fuse_scores(keyword=[1.0, 3.0], semantic=[None, None]) == pytest.approx([logistic(-0.5), logistic(0.5)])
    assert fuse_scores(keyword=[0.0, 0.0], semantic=[0.3, 0.9]) == pytest.approx([logistic(-0.5), logistic(0.5)])


@given(pairs)
def test_a_score_is_a_share_and_half_is_average(pairs: list[tuple[float, float | None]]) -> None:
    keyword, semantic = [first for first, _ in pairs], [second for _, second in pairs]
    scores = fuse_scores(keyword=keyword, semantic=semantic)
    assert len(scores) == len(pairs)
    assert all(0 < score < 1 for score in scores)
    assert sum(math.log(score / (1 - score)) for score in scores) == pytest.approx(0, abs=1e-6)


@given(pairs, st.floats(min_value=0.1, max_value=100), numbers)
def test_the_unit_of_a_score_makes_no_difference(
    pairs: list[tuple[float, float | None]], factor: float, shift: float
) -> None:
    keyword, semantic = [first for first, _ in pairs], [second for _, second in pairs]
    moved = [score * factor + shift for score in keyword]
    assert fuse_scores(keyword=moved, semantic=semantic) == pytest.approx(
        fuse_scores(keyword=keyword, semantic=semantic), abs=1e-6
    )


@given(pairs)
def test_what_is_better_in_both_is_better(pairs: list[tuple[float, float | None]]) -> None:
    known = [(first, second) for first, second in pairs if second is not None]
    scores = fuse_scores(keyword=[first for first, _ in known], semantic=[second for _, second in known])
    for one, mine in zip(known, scores, strict=True):
        for other, theirs in zip(known, scores, strict=True):
            if one[0] >= other[0] and one[1] >= other[1]:
                assert mine >= theirs - 1e-9
