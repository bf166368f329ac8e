"""The vectors of a pair of texts: of both, of the newer one's nearest clause, and of what it says of anything. Pure.

Of "we sold the boat, then went to Rome" only a clause is about the boat, and what it says of the boat, "sold it", ends
anything: the clause that is nearest to the older text is compared with it, too, and the newer text with a pronoun for
what both name has a vector of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from apps.core.llm.embedding.local import LocalEmbedder
from apps.core.text.sentences import split_clauses
from apps.core.text.text_cache import cache_texts
from apps.memory.atomic.phrases import replace_shared

DIMENSIONS: Final = 512
"""Of the local embedder's vectors; what follows in a stored one is padding."""

Floats = npt.NDArray[np.float32]

_MOST_CLAUSES = 12

_WHOLE, _BARE, _PRODUCT, _COSINE = 4, 6, 60, 3
"""What scales each part of a row to about one."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A memory's text with its vector by the local embedder."""

    text: str
    vector: Floats


@cache_texts(4_000)
def embed(text: str) -> Floats:
    """Return the local embedder's vector of a text: `DIMENSIONS` of length one."""
    (vector,) = LocalEmbedder().embed([text])
    assert vector is not None, "the local embedder refuses no text"
    return vector[:DIMENSIONS]


def make_statement(text: str) -> Statement:
    """Return a text with its vector by the local embedder."""
    return Statement(text=text, vector=embed(text))


def join_vectors(olds: Sequence[Statement], new: Statement) -> Floats:
    """Return a row for each pair of an older statement and the new one."""
    bare = np.stack([embed(replace_shared(old.text, new.text)) for old in olds])
    return _join(np.stack([old.vector for old in olds]), new, bare=bare)


def glance(olds: Floats, new: Statement) -> Floats:
    """Return the rows of `join_vectors` for older vectors (rows) as if nothing were named in both: no text is read."""
    return _join(olds, new, bare=np.broadcast_to(new.vector, olds.shape))


def _join(olds: Floats, new: Statement, *, bare: Floats) -> Floats:
    clauses = np.stack([embed(clause) for clause in split_clauses(new.text)[:_MOST_CLAUSES] or [new.text]])
    nearest = clauses[(olds @ clauses.T).argmax(axis=1)]
    news = np.broadcast_to(new.vector, olds.shape)
    return np.concatenate(
        [olds * _WHOLE, *_compare(olds, news), *_compare(olds, nearest), bare * _BARE], axis=1, dtype=np.float32
    )


def _compare(olds: Floats, others: Floats) -> tuple[Floats, Floats, Floats]:
    product = olds * others
    return others * _WHOLE, product * _PRODUCT, product.sum(axis=1, keepdims=True) * _COSINE
