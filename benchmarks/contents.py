"""Vectors of many texts, made once and kept, so that both sides of a comparison store the same ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest.mock import patch
from zlib import crc32

import numpy as np
import numpy.typing as npt

from apps.core.llm.embedding.local import LocalEmbedder
from apps.core.llm.embedding.parts import split_text
from apps.core.llm.embedding.types import Vector, fit
from benchmarks.corpora import Person, get_content
from benchmarks.mixing import vary_vectors

if TYPE_CHECKING:  # mem0's environment imports this module, and has no progress bars
    from benchmarks.progress import Advance

NATIVE_DIMENSIONS = 512
"""What the local embedder gives; the product pads its vectors with zeros."""

_AT_ONCE = 100

Matrix = npt.NDArray[np.float32]


class Embedded:
    """Texts and their vectors, a row of `matrix` (texts x `NATIVE_DIMENSIONS`, of length 1) for each distinct text."""

    def __init__(self, texts: Sequence[str], *, advance: Advance) -> None:
        self.texts = list(dict.fromkeys(texts))
        self.rows = {text: number for number, text in enumerate(self.texts)}
        self.matrix = np.empty((len(self.texts), NATIVE_DIMENSIONS), dtype=np.float32)
        for start in range(0, len(self.texts), _AT_ONCE):
            batch = self.texts[start : start + _AT_ONCE]
            self.matrix[start : start + len(batch)] = embed_texts(batch)
            advance(len(batch))

    def get(self, texts: Sequence[str]) -> Matrix:
        """Return the vectors of some of the texts, in order."""
        return self.matrix[[self.rows[text] for text in texts]]


class PeopleVectors:
    """The vectors of everybody's memories: of people of the folders those of the texts, of repeated ones varied ones.

    Nobody shares a vector with anybody else, then. `noise`: its length beside vectors of length 1; with 0 all copies of
    a memory have the same vector.
    """

    def __init__(self, embedded: Embedded, *, noise: float) -> None:
        self._embedded = embedded
        self._noise = noise

    def get(self, person: Person) -> Matrix:
        """Return the vectors of a person's memories (memories x `NATIVE_DIMENSIONS`), the same ones every time."""
        vectors = self._embedded.get([get_content(row) for row in person.rows])
        if person.copy == 1 or not self._noise:
            return vectors
        return vary_vectors(vectors, seed=crc32(person.name.encode()), noise=self._noise)


def embed_texts(texts: Sequence[str]) -> Matrix:
    """Return the vectors (texts x `NATIVE_DIMENSIONS`) that the product gives to memories with these texts.

    The vector of a text too long for the embedder is the mean of those of its parts.
    """
    embedder = LocalEmbedder()
    parts = [split_text(text, max_characters=embedder.max_characters) for text in texts]
    vectors: Iterator[Vector | None] = iter(embedder.embed([part for row in parts for part in row]))
    means = [np.sum([next(vectors) for _ in row], axis=0) for row in parts]  # type: ignore[arg-type]
    return np.stack(fit(means))[:, :NATIVE_DIMENSIONS]


@contextmanager
def giving_vectors(embedded: Embedded) -> Iterator[None]:
    """Have the product's local embedder look vectors up instead of computing them, for texts of `embedded` in one part.

    So the product stores memories whose vectors are given, through the service that otherwise embeds them.
    """
    known: Mapping[str, Vector] = dict(zip(embedded.texts, fit(embedded.matrix), strict=True))

    def look_up(_embedder: LocalEmbedder, texts: Sequence[str], *, seconds: float | None = None) -> list[Vector]:
        return [known[text] for text in texts]

    with patch.object(LocalEmbedder, "embed", look_up):
        yield
