"""Figures of merit of a ranking (Manning et al. 2008, chapter 8; BEIR, Thakur et al. 2021). Pure, no Django."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice


def compute_recall(ranked: Sequence[str], relevant: Mapping[str, int], *, k: int) -> float:
    """The share of the relevant that is among the first `k`."""
    return sum(item in relevant for item in ranked[:k]) / len(relevant)


def compute_hit(ranked: Sequence[str], relevant: Mapping[str, int], *, k: int) -> float:
    """1 when anything relevant is among the first `k`, else 0."""
    return float(any(item in relevant for item in ranked[:k]))


def compute_reciprocal_rank(ranked: Sequence[str], relevant: Mapping[str, int]) -> float:
    """One divided by the place of the first relevant item; 0 when there is none."""
    return next((1 / place for place, item in enumerate(ranked, start=1) if item in relevant), 0.0)


def compute_ndcg(ranked: Sequence[str], relevant: Mapping[str, int], *, k: int) -> float:
    """Discounted gain of the first `k`, as a share of what the best order would have (Järvelin and Kekäläinen 2002).

    The gain of an item is its grade, as in trec_eval; the discount of place p is log2(p + 1).
    """
    gains = (relevant.get(item, 0) for item in islice(ranked, k))
    best = sorted(relevant.values(), reverse=True)[:k]
    return _discount(gains) / _discount(best)


def _discount(gains: Iterable[int]) -> float:
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, start=1))


def compute_percentile(values: Sequence[float], *, share: float) -> float:
    """The smallest of the values that at least `share` (0..1) of them do not pass (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)]
