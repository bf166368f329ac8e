"""One ranking from two scores of different kinds: BM25, which has no upper bound, and cosine. Pure, no Django."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean


def standardize(scores: Sequence[float | None]) -> list[float]:
    """Each score as its distance from the mean, in standard deviations; 0 where one is missing, or all are equal."""
    known = [score for score in scores if score is not None]
    if not known:
        return [0.0] * len(scores)
    mean = fmean(known)
    deviation = math.sqrt(fmean((score - mean) ** 2 for score in known))
    # Equal scores differ by rounding alone: that must not be blown up to a difference.
    if deviation <= 1e-9 * max(1.0, abs(mean)):
        return [0.0] * len(scores)
    return [0.0 if score is None else (score - mean) / deviation for score in scores]


def fuse_scores(*, keyword: Sequence[float], semantic: Sequence[float | None]) -> list[float]:
    """The score of each candidate from its BM25 and its cosine (None: it has no vector yet), 0..1, ½ on average.

    Each arm says how far a candidate stands out among the candidates of this query, and the two count alike
    (distribution-based score fusion, Mazzeschi 2023): there is no weight to tune, and no single outlier that squeezes
    the rest together, as scaling by the maximum does. The logistic function only makes a number from 0 to 1 of it;
    numbers of different queries cannot be compared.
    """
    pairs = zip(standardize(keyword), standardize(semantic), strict=True)
    return [_logistic((by_keyword + by_meaning) / 2) for by_keyword, by_meaning in pairs]


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))
