"""BM25 by hand, and what holds for any numbers."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.memory.retrieval.atomic.bm25 import compute_bm25
from apps.memory.retrieval.atomic.types import AtomicCorpus, TermMatch

CORPUS = AtomicCorpus(memory_count=10, average_length=20.0)

counts = st.integers(min_value=1, max_value=1_000)
matches = st.builds(TermMatch, frequency=counts, document_frequency=counts)
lengths = st.integers(min_value=1, max_value=10_000)


@pytest.mark.spec("A4")
def test_one_term_by_hand() -> None:
    # idf = ln(1 + (10 − 2 + ½) / (2 + ½)) = ln 4.4; of average length, the frequency 3 counts 3 · 1.9 / (3 + 0.9).
    score = compute_bm25([TermMatch(frequency=3, document_frequency=2)], length=20, corpus=CORPUS)
    assert score == pytest.approx(math.log(4.4) * 5.7 / 3.9)


@pytest.mark.spec("A4")
def test_a_memory_twice_as_long_as_the_average_by_hand() -> None:
    # The norm is 0.9 · (1 − 0.4 + 0.4 · 2) = 1.26.
    score = compute_bm25([TermMatch(frequency=1, document_frequency=10)], length=40, corpus=CORPUS)
    assert score == pytest.approx(math.log(1 + 0.5 / 10.5) * 1.9 / 2.26)


def test_terms_add_up_and_none_is_nothing() -> None:
    first, second = TermMatch(frequency=1, document_frequency=1), TermMatch(frequency=2, document_frequency=5)
    alone = [compute_bm25([match], length=7, corpus=CORPUS) for match in (first, second)]
    assert compute_bm25([first, second], length=7, corpus=CORPUS) == pytest.approx(sum(alone))
    assert compute_bm25([], length=7, corpus=CORPUS) == 0


@given(match=matches, length=lengths)
def test_more_of_a_term_is_better_and_soon_counts_no_more(match: TermMatch, length: int) -> None:
    corpus = AtomicCorpus(memory_count=2_000, average_length=50.0)
    more = TermMatch(frequency=match.frequency + 1, document_frequency=match.document_frequency)
    score = compute_bm25([match], length=length, corpus=corpus)
    limit = 1.9 * math.log(1 + (2_000 - match.document_frequency + 0.5) / (match.document_frequency + 0.5))
    assert 0 < score < compute_bm25([more], length=length, corpus=corpus) < limit


@given(match=matches, length=lengths)
def test_rarer_terms_and_shorter_memories_are_better(match: TermMatch, length: int) -> None:
    corpus = AtomicCorpus(memory_count=2_000, average_length=50.0)
    commoner = TermMatch(frequency=match.frequency, document_frequency=match.document_frequency + 1)
    score = compute_bm25([match], length=length, corpus=corpus)
    assert score > compute_bm25([commoner], length=length, corpus=corpus)
    assert score > compute_bm25([match], length=length + 1, corpus=corpus)
