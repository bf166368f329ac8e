"""Sentences, vectors and shares of the benchmark of scale: always the same ones, and with the properties they claim."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from apps.core.text.bm25_terms import bm25_terms
from benchmarks.mixing import mix_vectors
from benchmarks.sentences import draw_word, make_question, make_sentence
from benchmarks.sharing import BIG, ORDINARY, STEADY, STEADY_GROUP, share_memories


def make_pool(vectors: int = 20, dimensions: int = 512) -> np.ndarray:
    pool = np.random.default_rng(3).standard_normal((vectors, dimensions)).astype(np.float32)
    return pool / np.linalg.norm(pool, axis=1, keepdims=True)


def test_a_sentence_depends_on_its_number_alone() -> None:
    assert make_sentence(0) == "黄梅芳说电影比跑步更重要。"
    assert make_sentence(1) == "In 2008 the user was in Gamarhaven because of the coffee."
    assert make_question(3) == "Who bought the bicycle?"
    assert len({make_sentence(number) for number in range(2_000)}) > 1_900


@pytest.mark.long
def test_words_become_rare_as_in_real_text() -> None:
    draw = random.Random(1)
    counts = Counter(draw_word([str(rank) for rank in range(1, 1_001)], draw) for _ in range(50_000))
    # Zipf: the word of rank r is r times as rare as the first.
    for rank in (2, 5, 10):
        assert counts["1"] / counts[str(rank)] == pytest.approx(rank, rel=0.15)


@pytest.mark.long
def test_terms_are_many_and_most_of_them_rare() -> None:
    frequencies = Counter(term for number in range(2_000) for term in set(bm25_terms(make_sentence(number))))
    assert len(frequencies) > 2_000
    assert sum(count == 1 for count in frequencies.values()) > len(frequencies) / 3
    assert frequencies.most_common(1)[0][1] > 300


def test_a_vector_depends_on_its_number_alone_and_has_length_one() -> None:
    pool = make_pool()
    vectors = mix_vectors(pool, start=0, count=30)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert (mix_vectors(pool, start=10, count=5) == vectors[10:15]).all()
    assert mix_vectors(pool, start=0, count=0).shape == (0, 512)
    assert vectors.dtype == np.float32


def test_vectors_are_near_what_they_are_mixed_of_and_no_two_are_the_same() -> None:
    pool = make_pool()
    vectors = mix_vectors(pool, start=0, count=200)
    assert (vectors @ pool.T).max(axis=1).min() > 0.6
    between = vectors @ vectors.T - np.eye(200)
    assert between.max() < 0.99


def test_shares_add_up_and_never_shrink() -> None:
    sizes = [10_000, 100_000, 1_000_000]
    shares = share_memories(sizes, users=2_000, big=50_000)
    assert [sum(share.counts) for share in shares] == sizes
    assert [share.counts[0] for share in shares] == [5_000, 50_000, 50_000]
    for before, after in pairwise(shares):
        assert all(few <= many for few, many in zip(before.counts, after.counts, strict=True))
    last = shares[-1]
    assert {last.counts[member] for member in last.groups[STEADY_GROUP]} == {312}
    assert {last.counts[member] for member in last.groups[ORDINARY]} <= {475, 476}


def test_groups_are_everybody_once_and_the_steady_ones_stay_the_same() -> None:
    shares = share_memories([200, 5_000], users=50, big=100)
    members = [member for name in (ORDINARY, STEADY_GROUP, BIG) for member in shares[0].groups[name]]
    assert sorted(members) == list(range(50))
    steady = [[share.counts[member] for member in share.groups[STEADY_GROUP]] for share in shares]
    assert steady[0] == steady[1] == [6] * STEADY


@pytest.mark.parametrize(("sizes", "users"), [([1_000], 5), ([99], 50)])
def test_too_few_people_or_memories_are_refused(sizes: list[int], users: int) -> None:
    with pytest.raises(ValueError, match="must be at least"):
        share_memories(sizes, users=users, big=10)
