"""Values between recall and ranking of atomic memories. No Django."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class AtomicRows:
    """Memories of one person as columns, n of each, in the order in which they were said within their sessions.

    - `keys`: shape (n,), 16 bytes each: their IDs.
    - `session`: a number for each session, in ascending order; each memory without a session has one of its own.
    - `time`: of its turn, in seconds since 1970; `happened`: of what it tells, if that is known, else the same;
      `created`, when it was stored.
    - `length`: number of terms.
    - `cosine`: to the query, `last_cosine`: to its last line, `earlier_cosine`: to the lines before it; NaN where there
      is no vector.
    - `asks`: whether it ends in a question mark.
    - `speakers`: who says it, where the content begins with a name ("Anna: …"); else "".
    - `row`, `term`, `frequency`: one entry for each term of the query in each memory: which row, which of
      `AtomicQuery.terms`, how often.
    """

    keys: npt.NDArray[Any]
    session: Integers
    time: Floats
    happened: Floats
    created: Floats
    length: Floats
    cosine: Floats
    last_cosine: Floats
    earlier_cosine: Floats
    asks: Flags
    speakers: tuple[str, ...]
    row: Integers
    term: Integers
    frequency: Floats

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, slots=True, eq=False)
class AtomicRecall:
    """What a query is ranked among. The statistics are those of all the person's active memories.

    `document_frequencies`: of each of `AtomicQuery.terms`, in how many memories it occurs.
    """

    rows: AtomicRows
    memory_count: int
    average_length: float
    document_frequencies: Floats


@dataclass(frozen=True, slots=True)
class Sample:
    """How near texts of the person are to a query in general: number, mean and variance of their cosines."""

    count: int = 0
    mean: float = 0.0
    variance: float = 0.0

    @classmethod
    def of(cls, cosines: Floats) -> Sample:
        known = cosines[~np.isnan(cosines)]
        return cls(len(known), float(known.mean()), float(known.var())) if len(known) else cls()

    def merge(self, other: Sample) -> Sample:
        """Return the sample of both together."""
        count = self.count + other.count
        if not count:
            return self
        mean = (self.count * self.mean + other.count * other.mean) / count
        squares = sum(part.count * (part.variance + (part.mean - mean) ** 2) for part in (self, other))
        return Sample(count, mean, squares / count)

    def standardize(self, cosine: float | None) -> float:
        """Return the distance from the mean in standard deviations; 0 without a cosine, or where all are alike."""
        if cosine is None or self.variance < 1e-12:
            return 0.0
        return (cosine - self.mean) / math.sqrt(self.variance)


NO_SAMPLE = Sample()
