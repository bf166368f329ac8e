"""Make any number of vectors, all of length 1, from those of a few texts. Needs numpy and the local embedder only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from apps.core.llm.embedding import Vector, fit, split_text
from apps.core.llm.embedding_local import LocalEmbedder

# What the local embedder gives; the product pads its vectors with zeros.
NATIVE_DIMENSIONS = 512
# Length of the noise beside a vector of length 1; two variations of the same vector are then about 0.94 alike.
NOISE = 0.25

_SEED = 12
_AT_ONCE = 100

Matrix = npt.NDArray[np.float32]


def embed_texts(texts: Sequence[str]) -> Matrix:
    """Return the vectors (texts x `NATIVE_DIMENSIONS`) that the product gives to memories with these texts.

    The vector of a text too long for the embedder is the mean of those of its parts.
    """
    embedder = LocalEmbedder()
    found = []
    for start in range(0, len(texts), _AT_ONCE):
        batch = texts[start : start + _AT_ONCE]
        parts = [split_text(text, max_characters=embedder.max_characters) for text in batch]
        vectors: Iterator[Vector | None] = iter(embedder.embed([part for row in parts for part in row]))
        means = [np.sum([next(vectors) for _ in row], axis=0) for row in parts]  # type: ignore[arg-type]
        found.append(np.stack(fit(means))[:, :NATIVE_DIMENSIONS])
    return np.concatenate(found).astype(np.float32)


def mix_vectors(pool: Matrix, *, start: int, count: int) -> Matrix:
    """Return vectors number `start` to `start + count` - 1 (count x dimensions).

    Each mixes two rows of `pool` (vectors x dimensions), with a weight between a half and one for the first, and noise
    in a random direction. The vector of a number is the same whichever others are made with it.
    """
    rows = [_mix_one(pool, number) for number in range(start, start + count)]
    return _normalize(np.stack(rows)) if rows else np.empty((0, pool.shape[1]), dtype=np.float32)


def _mix_one(pool: Matrix, number: int) -> Matrix:
    draw = np.random.Generator(np.random.SFC64([_SEED, number]))
    first, second = draw.integers(len(pool), size=2)
    weight = 0.5 + draw.random() / 2
    mixture = weight * pool[first] + (1 - weight) * pool[second]
    noise = draw.standard_normal(pool.shape[1], dtype=np.float32)
    return mixture / np.linalg.norm(mixture) + NOISE * noise / np.linalg.norm(noise)


def vary_vectors(vectors: Matrix, *, seed: int) -> Matrix:
    """Return these vectors (vectors x dimensions) with noise; the same seed gives the same noise."""
    drawn = np.random.default_rng([_SEED, seed]).standard_normal(vectors.shape, dtype=np.float32)
    return _normalize(vectors + NOISE * _normalize(drawn))


def _normalize(rows: Matrix) -> Matrix:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
