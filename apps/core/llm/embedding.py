"""Texts as vectors: what an embedder is, the form of its vectors, and texts too long for it in parts (V2, V3). Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

# The meaning of a text: `DIMENSIONS` numbers of length 1, so that a dot product of two is their cosine.
Vector = npt.NDArray[np.float32]

# The dimensions of every vector; one with fewer is padded with zeros, which leaves the cosine as it is (V2).
DIMENSIONS = 1536


class Embedder(Protocol):
    """A model that turns texts into vectors. Synchronous and safe to use from several threads at once."""

    @property
    def name(self) -> str:
        """Names the vectors: those of embedders with different names are never compared (V2)."""

    @property
    def local(self) -> bool:
        """Whether it answers at once from this process, so that it may be asked while a transaction is open."""

    @property
    def dimensions(self) -> int | None:
        """How many numbers the model gives for a text, None before it has given any."""

    @property
    def max_characters(self) -> int:
        """The longest text it reads as a whole; longer ones are embedded in parts (V3)."""

    @property
    def min_similarity(self) -> float:
        """The cosine below which two texts have nothing to do with each other (the default floor of K9)."""

    def focus(self, vector: Vector) -> Vector:
        """Return the vector of a query without what the model gives to all questions alike, if that is much.

        For ranking texts by meaning only: its products with their vectors are not cosines.
        """

    def embed(self, texts: Sequence[str], *, seconds: float | None = None) -> list[Vector | None]:
        """Return a vector for each text, in order; None for a text that the model refuses, whatever is asked with it.

        `seconds` bounds the whole call where the model is elsewhere; None leaves the embedder's own patience. Raises
        `apps.core.errors.ModelUnavailable` when the model cannot be asked or answers with something else than vectors.
        """


class BadVector(ValueError):
    """What a model returned is no vector that can be stored and compared."""


def fit(rows: npt.ArrayLike) -> list[Vector]:
    """Return the rows of a (texts × dimensions) array as unit vectors of `DIMENSIONS` numbers.

    Raises `BadVector` for more dimensions, rows of different length, and rows that have no direction: zeros, NaN or
    infinite numbers.
    """
    try:
        matrix = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadVector("The vectors differ in length or are not numeric.") from None
    if matrix.ndim != 2 or not 1 <= matrix.shape[1] <= DIMENSIONS:
        dimensions = matrix.shape[-1] if matrix.ndim else 0
        raise BadVector(f"The vectors have {dimensions} dimensions; 1 to {DIMENSIONS} can be stored.")
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise BadVector("A vector is zero or not finite.")
    padded = np.zeros((matrix.shape[0], DIMENSIONS), dtype=np.float32)
    padded[:, : matrix.shape[1]] = matrix / lengths
    return list(padded)


def average(vectors: Sequence[Vector | None]) -> Vector | None:
    """Return the vector of a text of which these are the parts'; None where one is missing, or they cancel out."""
    found = [vector for vector in vectors if vector is not None]
    if not found or len(found) < len(vectors):
        return None
    if len(found) == 1:
        return found[0]
    try:
        return fit([np.sum(found, axis=0)])[0]
    except BadVector:
        return None


# Where a part may end, the better places first.
_ENDS = (
    re.compile(r"\n\s*\n"),  # a paragraph
    re.compile(r"\n|[。！？；…]+[”』」）]*|(?<![.!?;])[.!?;]++[\"')\]]*+(?=\s)"),  # a sentence
    re.compile(r"[，、：]|[,:](?=\s)|\s+"),  # a clause, a word
)


def split_text(text: str, *, max_characters: int) -> list[str]:
    """Return `text` cut into parts of at most `max_characters`, nothing lost: joined, they are the text again.

    A part ends where a paragraph, a sentence, a clause or a word ends, as good a place as its second half has, and
    else in the middle of a word. A text of nothing but white space has no part.
    """
    if not text.strip():
        return []
    parts, at = [], 0
    while len(text) - at > max_characters:
        end = _find_end(text, at=at, limit=at + max_characters)
        parts.append(text[at:end])
        at = end
    return [*parts, text[at:]]


def _find_end(text: str, *, at: int, limit: int) -> int:
    middle = at + (limit - at + 1) // 2
    for pattern in _ENDS:
        ends = [found.end() for found in pattern.finditer(text, middle, limit) if found.end() > at]
        if ends:
            return ends[-1]
    return limit
