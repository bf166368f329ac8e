"""Many people made from the people of a few folders, and the questions that they are asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from apps.core.beir import InvalidFolder
from apps.core.llm.embedding.local import LocalEmbedder
from apps.memory.evaluation.types import Folder
from benchmarks.corpora import (
    TooFewMemories,
    draw_questions,
    get_content,
    grow_people,
    make_distinct,
    read_folders,
    split_people,
)
from tests.benchmarks.folders import write_folder


@pytest.fixture
def folders(tmp_path: Path) -> list[Folder]:
    paths = [
        write_folder(tmp_path / "a", people={"ann": 3, "bo": 2}),
        write_folder(tmp_path / "b", people={"ann": 4}),
    ]
    return read_folders(paths)


def test_a_folder_given_twice_counts_once_and_equal_names_are_told_apart(tmp_path: Path) -> None:
    one = write_folder(tmp_path / "one/set", people={"ann": 1})
    two = write_folder(tmp_path / "two/set", people={"ann": 1})
    assert [folder.name for folder in read_folders([one, one / "."])] == ["set"]
    assert [folder.name for folder in read_folders([one, two])] == [str(one.resolve()), str(two.resolve())]


def test_a_bad_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidFolder, match=r"corpus\.jsonl: cannot be read"):
        read_folders([tmp_path])


def test_people_of_different_folders_are_different_people(folders: list[Folder]) -> None:
    names = [person.name for folder in folders for person in split_people(folder)]
    assert names == ["a/ann", "a/bo", "b/ann"]
    assert get_content(folders[0].corpus[0]) == "ann: ann likes tea 0"


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
        assert sorted(each.person.rpartition("#")[0] for each in asked[start : start + 3]) == [
            *("a/ann", "a/bo", "b/ann"),
        ]
    assert len({each.text for each in asked}) == 7
    assert asked == draw_questions(people, number=7, seed=1)
    assert not {each.text for each in asked} & {each.text for each in draw_questions(people, number=7, seed=2)}


def test_too_few_memories_to_ask_anything_are_refused(folders: list[Folder]) -> None:
    (people,) = grow_people(folders, sizes=[2])
    with pytest.raises(TooFewMemories):
        draw_questions(people, number=1, seed=0)


def test_distinct_texts_differ_in_white_space_alone() -> None:
    texts = [make_distinct("我喜欢什么茶？", number) for number in range(1_000)]
    assert len(set(texts)) == 1_000
    assert {text.strip() for text in texts} == {"我喜欢什么茶？"}


def test_distinct_texts_have_the_same_vector() -> None:
    plain, distinct = LocalEmbedder().embed(["Which tea?", make_distinct("Which tea?", 37)])
    assert plain is not None
    assert distinct is not None
    assert np.allclose(plain, distinct, atol=1e-6)
