"""What the benchmarks invent is always the same, and has the properties that they claim."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from apps.core.beir import Folder, read_folders
from apps.core.llm.embedding_local import LocalEmbedder
from benchmarks.compare_mem0 import draw_questions, grow_people, make_distinct
from benchmarks.running import Spread, get_spread
from benchmarks.scale import BIG, ORDINARY, STEADY_GROUP, list_groups, share_memories
from benchmarks.sentences import draw_word, make_question, make_sentence
from benchmarks.turn_overhead import Comparison, compare
from benchmarks.vectors import mix_vectors, vary_vectors
from tests.benchmarks.folders import write_folder


def test_percentiles_are_interpolated_whatever_the_order() -> None:
    assert get_spread([3.0, 1.0, 2.0]) == Spread(p50=2.0, p95=2.9)
    assert get_spread([float(value) for value in range(101)]) == Spread(p50=50.0, p95=95.0)


def test_the_overhead_is_of_pairs_and_not_of_percentiles() -> None:
    # The machine was slow during the second pair: both took longer, and what was added did not.
    assert compare([(30.0, 10.0), (130.0, 110.0), (31.0, 11.0)]) == Comparison(
        turn=Spread(p50=31.0, p95=120.1), direct=Spread(p50=11.0, p95=100.1), overhead=Spread(p50=20.0, p95=20.0)
    )


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


def test_vectors_are_near_what_they_are_made_of_and_no_two_are_the_same() -> None:
    pool = np.random.default_rng(3).standard_normal((20, 512)).astype(np.float32)
    pool /= np.linalg.norm(pool, axis=1, keepdims=True)
    vectors = mix_vectors(pool, start=0, count=200)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert (mix_vectors(pool, start=10, count=5) == vectors[10:15]).all()
    assert (vectors @ pool.T).max(axis=1).min() > 0.6
    assert (vectors @ vectors.T - np.eye(200)).max() < 0.99
    assert np.allclose(np.sum(vary_vectors(pool, seed=1) * pool, axis=1), 0.97, atol=0.01)


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


@pytest.fixture
def folders(tmp_path: Path) -> list[Folder]:
    paths = [
        write_folder(tmp_path / "a", people={"ann": 3, "bo": 2}),
        write_folder(tmp_path / "b", people={"ann": 4}),
    ]
    return read_folders(paths)


def test_there_are_exactly_as_many_memories_as_asked_for_and_nobody_is_there_twice(folders: list[Folder]) -> None:
    first, second = grow_people(folders, sizes=[6, 20])
    assert [(person.name, len(person.rows)) for person in first] == [("a/ann#1", 3), ("a/bo#1", 2), ("b/ann#1", 1)]
    assert [len(person.rows) for person in second] == [3, 2, 4, 3, 2]
    assert len({person.name for person in first + second}) == 8
    # Whoever was cut short may lack the memory that is asked for.
    assert [len(person.queries) for person in first] == [1, 1, 0]


def test_every_query_is_asked_once_before_any_is_asked_again(folders: list[Folder]) -> None:
    people = [person for step in grow_people(folders, sizes=[90]) for person in step]
    asked = draw_questions(people, number=7, seed=1)
    for start in (0, 3):
        names = sorted(person.name.rpartition("#")[0] for person, _query in asked[start : start + 3])
        assert names == ["a/ann", "a/bo", "b/ann"]
    texts = {query.text for _person, query in asked}
    assert len(texts) == 7
    assert asked == draw_questions(people, number=7, seed=1)
    assert not texts & {query.text for _person, query in draw_questions(people, number=7, seed=2)}


def test_distinct_texts_differ_in_white_space_alone_and_have_the_same_vector() -> None:
    texts = [make_distinct("我喜欢什么茶？", number) for number in range(1_000)]
    assert len(set(texts)) == 1_000
    assert {text.strip() for text in texts} == {"我喜欢什么茶？"}
    plain, distinct = LocalEmbedder().embed(["Which tea?", make_distinct("Which tea?", 37)])
    assert plain is not None
    assert distinct is not None
    assert np.allclose(plain, distinct, atol=1e-6)
