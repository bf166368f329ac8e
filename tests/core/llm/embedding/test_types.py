"""The one form of vectors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from apps.core.llm.embedding import DIMENSIONS, BadVector, fit


def test_vectors_are_padded_with_zeros_to_the_stored_dimensions_and_have_length_1() -> None:
    (vector,) = fit([[3.0, 4.0]])

    assert (vector.shape, vector.dtype) == ((1536,), np.float32)
    assert vector[:2] == pytest.approx([0.6, 0.8])
    assert not vector[2:].any()


@pytest.mark.spec("V2")
def test_padding_leaves_the_cosine_as_it_is() -> None:
    left, right = [1.0, 2.0, -3.0], [0.5, -1.0, 2.0]
    cosine = np.dot(left, right) / (np.linalg.norm(left) * np.linalg.norm(right))

    first, second = fit([left, right])

    assert float(first @ second) == pytest.approx(cosine, abs=1e-6)


def test_all_the_dimensions_that_can_be_stored_are_kept() -> None:
    (vector,) = fit([[1.0] * DIMENSIONS])

    assert vector == pytest.approx([1 / math.sqrt(DIMENSIONS)] * DIMENSIONS)


@pytest.mark.parametrize(
    "rows",
    [
        [[1.0] * (DIMENSIONS + 1)],
        [[]],
        [[0.0, 0.0]],
        [[1.0, math.nan]],
        [[math.inf, 1.0]],
        [[1.0, 2.0], [1.0]],
        [["a"]],
        [None],
        [1.0, 2.0],
    ],
    ids=["too many", "none", "zeros", "NaN", "infinite", "different", "words", "null", "no rows"],
)
def test_what_is_no_vector_is_refused(rows: list[object]) -> None:
    with pytest.raises(BadVector):
        fit(rows)
