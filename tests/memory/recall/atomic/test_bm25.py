"""BM25 by hand, and what holds for any numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.memory.recall.features import AtomicRecall, compute_keyword_scores
from apps.memory.recall.query import AtomicQuery
from tests.memory.recall.atomic.rows import make_recall

counts = st.integers(min_value=1, max_value=1_000)
lengths = st.integers(min_value=1, max_value=10_000)


def score(*matches: tuple[int, int], length: int = 20, memory_count: int = 10, average_length: float = 20.0) -> float:
    """BM25 of one memory in which terms occur: for each its frequency, and in how many memories it occurs."""
    empty = make_recall(["x"])
    rows = replace(
        empty.rows,
        length=np.array([float(length)]),
        row=np.zeros(len(matches), np.int64),
        term=np.arange(len(matches)),
        frequency=np.array([frequency for frequency, _df in matches], np.float64),
    )
    recall = AtomicRecall(
        rows=rows,
        memory_count=memory_count,
        average_length=average_length,
        document_frequencies=np.array([df for _frequency, df in matches], np.float64),
    )
    query = AtomicQuery(" ".join(f"term{number}" for number in range(len(matches))))
    return float(compute_keyword_scores(recall, query)[0])


@pytest.mark.spec("A4")
def test_one_term_by_hand() -> None:
    # idf = ln(1 + (10 − 2 + ½) / (2 + ½)) = ln 4.4; of average length, the frequency 3 counts 3 · 1.9 / (3 + 0.9).
    assert score((3, 2)) == pytest.approx(math.log(4.4) * 5.7 / 3.9)


@pytest.mark.spec("A4")
def test_a_memory_twice_as_long_as_the_average_by_hand() -> None:
    # The norm is 0.9 · (1 − 0.4 + 0.4 · 2) = 1.26.
    assert score((1, 10), length=40) == pytest.approx(math.log(1 + 0.5 / 10.5) * 1.9 / 2.26)


def test_terms_add_up_and_none_is_nothing() -> None:
    first, second = (1, 1), (2, 5)
    assert score(first, second, length=7) == pytest.approx(score(first, length=7) + score(second, length=7))
    assert score(length=7) == 0


@given(frequency=counts, document_frequency=counts, length=lengths)
def test_more_of_a_term_is_better_and_soon_counts_no_more(frequency: int, document_frequency: int, length: int) -> None:
    corpus = {"length": length, "memory_count": 2_000, "average_length": 50.0}
    once = score((frequency, document_frequency), **corpus)
    limit = 1.9 * math.log(1 + (2_000 - document_frequency + 0.5) / (document_frequency + 0.5))
    assert 0 < once < score((frequency + 1, document_frequency), **corpus) < limit


@given(frequency=counts, document_frequency=counts, length=lengths)
def test_rarer_terms_and_shorter_memories_are_better(frequency: int, document_frequency: int, length: int) -> None:
    corpus = {"memory_count": 2_000, "average_length": 50.0}
    once = score((frequency, document_frequency), length=length, **corpus)
    assert once > score((frequency, document_frequency + 1), length=length, **corpus)
    assert once > score((frequency, document_frequency), length=length + 1, **corpus)
