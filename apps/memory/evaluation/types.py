"""Values that an evaluation passes around. No Django."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.core.beir import CorpusRow, Query


@dataclass(frozen=True, slots=True)
class Folder:
    """What a folder holds. `name` is unique in a run."""

    name: str
    corpus: Sequence[CorpusRow]
    queries: Sequence[Query]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The answer to a query: IDs of corpus rows, best first, and how long it took, embedding the query included.

    `late`: the query's vector was not there in time, so that keywords alone answered.
    """

    query: Query
    ranked: Sequence[str]
    milliseconds: float
    late: bool
