"""Values that an evaluation passes around. No Django."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from apps.core.beir import CorpusRow, Query


@dataclass(frozen=True, slots=True)
class Folder:
    """What a folder holds. `name` is unique in a run."""

    name: str
    corpus: Sequence[CorpusRow]
    queries: Sequence[Query]


@dataclass(frozen=True, slots=True)
class ExplainedRow:
    """A corpus row in an answer: its place, from 1, its text, and the parts of its score."""

    place: int
    row_id: str
    text: str
    score: float
    parts: Mapping[str, float]
    relevant: bool
    stands_out: bool


@dataclass(frozen=True, slots=True)
class Ranking:
    """The answer to a query: IDs of corpus rows, best first, and how long it took, embedding the query included.

    `late`: the query's vector was not there in time, so that keywords alone answered. `without`: the answer if a
    feature had no weight, by its name. `explained`: why the best were ranked as they were, and the relevant ones.
    """

    query: Query
    ranked: Sequence[str]
    milliseconds: float
    late: bool
    without: Mapping[str, Sequence[str]] = field(default_factory=dict)
    explained: Sequence[ExplainedRow] = ()
