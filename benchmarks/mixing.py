"""Any number of vectors made from a few: mixtures of two of real sentences, or one, with a little noise. Pure."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float32]

NOISE = 0.25
"""Length of the noise beside a mixture of length 1; two mixtures of the same pair are then about 0.94 alike."""

_SEED = 12


def mix_vectors(pool: Matrix, *, start: int, count: int) -> Matrix:
    """Return vectors number `start` to `start + count` - 1 (count x dimensions), of length 1.

    Each mixes two rows of `pool` (vectors x dimensions, of length 1), with a weight between a half and one for the
    first, and noise in a random direction. The vector of a number is the same whichever others are made with it.
    """
    rows = [_mix_one(pool, number) for number in range(start, start + count)]
    mixed = np.stack(rows) if rows else np.empty((0, pool.shape[1]), dtype=np.float32)
    return _normalize(mixed)


def _mix_one(pool: Matrix, number: int) -> Matrix:
    draw = np.random.Generator(np.random.SFC64([_SEED, number]))
    first, second = draw.integers(len(pool), size=2)
    weight = 0.5 + draw.random() / 2
    mixture = weight * pool[first] + (1 - weight) * pool[second]
    noise = draw.standard_normal(pool.shape[1], dtype=np.float32)
    mixed = mixture / np.linalg.norm(mixture) + NOISE * noise / np.linalg.norm(noise)
    return mixed.astype(np.float32)


def vary_vectors(vectors: Matrix, *, seed: int, noise: float) -> Matrix:
    """Return these vectors (vectors x dimensions, of length 1) with noise of that length, of length 1 again.

    The same seed gives the same noise.
    """
    drawn = np.random.default_rng([_SEED, seed]).standard_normal(vectors.shape, dtype=np.float32)
    return _normalize(vectors + noise * _normalize(drawn))


def _normalize(rows: Matrix) -> Matrix:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
