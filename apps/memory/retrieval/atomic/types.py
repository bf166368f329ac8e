"""Values between recall and ranking of atomic memories. No Django."""

from __future__ import annotations

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
    - `time`: of its turn, in seconds since 1970, and `created`, when it was stored.
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
