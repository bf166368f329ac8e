"""What of a pair of texts becomes vectors: the whole, the nearest clause, and what is said of anything."""

from __future__ import annotations

import numpy as np
import pytest

from apps.memory.atomic.vectors import DIMENSIONS, Statement, embed, glance, join_vectors

_BARE = slice(-DIMENSIONS, None)
_NEAREST = slice(3 * DIMENSIONS + 1, 4 * DIMENSIONS + 1)


def read(text: str) -> Statement:
    return Statement(text=text, vector=embed(text))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("The user has a harp.", "The user sold the harp."), ("The user has a canoe.", "The user sold the canoe.")),
        (("用户有一把竖琴。", "用户把竖琴卖了。"), ("用户有一条皮艇。", "用户把皮艇卖了。")),
    ],
)
def test_the_same_said_of_another_thing_has_the_same_bare_vector(one: tuple[str, str], other: tuple[str, str]) -> None:
    found, same = (join_vectors([read(old)], read(new))[0] for old, new in (one, other))
    assert np.array_equal(found[_BARE], same[_BARE])
    assert not np.array_equal(found, same)


@pytest.mark.parametrize(
    ("old", "new", "clause"),
    [
        (
            "The user plays the harp.",
            "It rained all week, the user has given up the harp, and dinner was late.",
            "the user has given up the harp",
        ),
        ("用户在学竖琴。", "这周一直下雨，竖琴不学了，晚饭也吃得晚。", "竖琴不学了"),
    ],
)
def test_of_a_long_text_the_clause_nearest_to_the_older_one_is_compared(old: str, new: str, clause: str) -> None:
    (row,) = join_vectors([read(old)], read(new))
    assert np.allclose(row[_NEAREST] / np.linalg.norm(row[_NEAREST]), embed(clause), atol=1e-5)


def test_each_older_text_has_its_row_whatever_stands_beside_it() -> None:
    olds = [read("The user has a harp."), read("用户住在镇江。"), read("The user likes plums.")]
    new = read("The user sold the harp, and moved to Seville.")
    together = join_vectors(olds, new)
    assert np.allclose(together, np.concatenate([join_vectors([old], new) for old in olds]), atol=1e-5)


def test_a_glance_reads_of_texts_that_share_nothing_what_a_look_reads() -> None:
    old, new = read("The user likes plums."), read("User sold a harp.")
    glanced, looked = glance(old.vector[None, :], new), join_vectors([old], new)
    assert glanced.shape == looked.shape
    assert np.allclose(glanced[:, :-DIMENSIONS], looked[:, :-DIMENSIONS], atol=1e-5)


@pytest.mark.parametrize("text", ["", "。", "😀", "、、、", "9" * 400])
def test_any_text_has_a_row_of_numbers(text: str) -> None:
    assert np.isfinite(join_vectors([read(text)], read(text))).all()
