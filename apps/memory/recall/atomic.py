"""Finding the atomic memories that matter for a message: query → columns → features → score → rank (A4).

The score of a memory is the sum of its features, each times its weight: statements and turns of a conversation have
weights of their own. docs/retrieval.md tells how.
"""

from __future__ import annotations

import tomllib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np

from apps.accounts.models import User
from apps.core.times import UTC_ZONE
from apps.memory.recall.columns import read_candidates, recall_atomic
from apps.memory.recall.features import (
    FEATURES,
    AtomicRecall,
    Flags,
    Floats,
    Integers,
    Sample,
    compute_columns,
    compute_evidence,
    compute_keyword_scores,
    look,
    standardize,
)
from apps.memory.recall.query import AtomicQuery
from apps.memory.types import ScoredAtomicMemory
from apps.memory.vectors.queries import QueryEmbedding

# What the lines before a follow-up count, of either kind of memory; measured in docs/retrieval.md.
EARLIER_WEIGHTS = {"earlier_meaning": 0.91, "earlier_words": 0.14, "said_before": -3.0}

# The evidence, in standard deviations, that a memory needs among very many, and how much less where there are few: the
# more memories there are, the likelier one of them is near a message by chance. Measured in docs/retrieval.md.
OUTSTANDING, FEW_MEMORIES = 3.5, 110.0

WEIGHTS_FILE = Path(__file__).with_name("weights.toml")


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each feature, by name: of statements, and of turns of a conversation."""

    statement: Mapping[str, float]
    turn: Mapping[str, float]


@cache
def load_weights() -> Weights:
    """Read the weights, as ``python -m benchmarks.train_ranking`` wrote them.

    Raises `ValueError` where the file names a feature that there is not.
    """
    kinds = tomllib.loads(WEIGHTS_FILE.read_text("utf-8"))
    if unknown := {name for kind in kinds.values() for name in kind} - FEATURES.keys():
        raise ValueError(f"{WEIGHTS_FILE.name} weighs {sorted(unknown)}; run python -m benchmarks.train_ranking")
    absent = dict.fromkeys(FEATURES, 0.0)
    return Weights(**{kind: absent | weights | EARLIER_WEIGHTS for kind, weights in kinds.items()})


def weigh(features: Mapping[str, Floats], is_turn: Flags) -> dict[str, Floats]:
    """Return the points that each feature gives to each row: the parts of which the score is the sum."""
    weights = load_weights()
    return {name: features[name] * np.where(is_turn, weights.turn[name], weights.statement[name]) for name in features}


def rank(scores: Floats, *, times: Floats) -> Integers:
    """Return the rows' numbers, best first; equal scores by time, newest first, then in their order."""
    order: Integers = np.lexsort((-times, -scores))
    return order


def find_outstanding(recall: AtomicRecall, evidence: Floats) -> Flags:
    """Return which rows stand out from the person's other memories: whatever an embedder's cosines are like (A4).

    Of very few memories it is every one above average: a higher threshold would cut what chance explains no worse than
    what it keeps. Where only the best of very many were read all do: there are no others to stand out from.
    """
    count = len(recall.rows)
    if count < recall.memory_count:
        return np.ones(count, dtype=np.bool_)
    return np.asarray(evidence >= find_threshold(count), np.bool_)


def find_threshold(count: int) -> float:
    """Return the evidence, in standard deviations, by which one of so many texts stands out from the others."""
    return max(0.0, OUTSTANDING - FEW_MEMORIES / max(count, 1))


@dataclass(frozen=True, slots=True, eq=False)
class AtomicRanking:
    """Every row of a recall with its score. `order`: row numbers, best first, without rows outside of the time bounds.

    `stands_out`: whether a row stands out from the person's other memories for this query (`find_outstanding`).
    """

    recall: AtomicRecall
    scores: Floats
    parts: Mapping[str, Floats]
    keyword_scores: Floats
    order: Integers
    stands_out: Flags

    @property
    def outstanding(self) -> list[int]:
        """The numbers of the rows that stand out, best first."""
        numbers: list[int] = self.order[self.stands_out[self.order]].tolist()
        return numbers

    @property
    def sample(self) -> Sample:
        """How near the person's memories are to the query; nothing where only the best of very many were read."""
        every = len(self.recall.rows) == self.recall.memory_count
        return Sample.of(self.recall.rows.cosine) if every else Sample()


def retrieve_atomic_memories(
    *,
    user: User,
    query: str,
    limit: int,
    query_embedding: QueryEmbedding | None,
    earlier: str = "",
    only_outstanding: bool = False,
    since: datetime | None = None,
    until: datetime | None = None,
    with_withheld: bool = False,
    zone: ZoneInfo = UTC_ZONE,
    now: datetime | None = None,
) -> list[ScoredAtomicMemory]:
    """Return the user's `limit` most relevant active atomic memories for `query`, best first (A4).

    `query` may be a question, keywords, or the lines of a dialogue. `earlier`: the lines before it, where it needs them
    (`find_earlier`). `query_embedding` is its vector; with None keywords alone answer, and what shares none is left
    out. `only_outstanding`: leave out what does not stand out from the other memories, as a turn does. `since`,
    `until`: bounds of the time of a memory's turn, included. What is muted or over is found only
    `with_withheld` (L10, D3). `now` (by default the time of the newest memory) and `zone`: from where "last May" is
    seen. Two statements. Nothing is counted.
    """
    asked = AtomicQuery(query, earlier=earlier, since=since, until=until, now=now, zone=zone)
    ranking = rank_atomic_memories(user, asked, query_embedding=query_embedding, with_withheld=with_withheld)
    if limit < 1 or ranking is None:
        return []
    order = ranking.outstanding if only_outstanding else ranking.order.tolist()
    return read_ranked(user, ranking, order[:limit])


def rank_atomic_memories(
    user: User, query: AtomicQuery, *, query_embedding: QueryEmbedding | None, with_withheld: bool = False
) -> AtomicRanking | None:
    """Rank the user's active memories for `query`, as `retrieve_atomic_memories` does; None where there are none."""
    recall = recall_atomic(
        user, terms=query.terms, query_embedding=query_embedding, with_withheld=with_withheld, now=query.now
    )
    return None if recall is None else rank_recall(recall, query)


def find_similar_memories(
    *, user: User, text: str, limit: int, query_embedding: QueryEmbedding | None, with_withheld: bool = False
) -> list[uuid.UUID]:
    """The user's `limit` active atomic memories that are most like `text`, best first, whether like it or not.

    By words and meaning alone, which count alike: for whoever compares memories with each other, it does not matter how
    long one is, who said it or when. `query_embedding` is the vector of `text`. One statement.
    """
    asked = AtomicQuery(text)
    recall = recall_atomic(user, terms=asked.terms, query_embedding=query_embedding, with_withheld=with_withheld)
    if recall is None:
        return []
    scores = standardize(compute_keyword_scores(recall, asked)) + standardize(recall.rows.cosine)
    order = rank(scores, times=recall.rows.time)[:limit]
    return [uuid.UUID(bytes=recall.rows.keys[number].tobytes()) for number in order]


def rank_recall(recall: AtomicRecall, query: AtomicQuery) -> AtomicRanking:
    """Score every row and put the best first; equal ones by time, newest first."""
    rows = recall.rows
    said_at = query.now or datetime.fromtimestamp(float(rows.time.max()), UTC)
    context = look(recall, query, query.list_times(said_at=said_at))
    features = compute_columns(context)
    parts = weigh(features, context.is_turn)
    scores = np.sum(list(parts.values()), axis=0)
    keyword_scores = compute_keyword_scores(recall, query)
    allowed = np.isfinite(rows.cosine) | (features["words_near"] > 0) | (features["time"] > 0) | (keyword_scores > 0)
    if features["time"].any() and query.names_time_alone(said_at=said_at):
        allowed &= features["time"] > 0
    if query.since is not None:
        allowed &= rows.time >= query.since.timestamp()
    if query.until is not None:
        allowed &= rows.time <= query.until.timestamp()
    order = rank(scores, times=rows.time)
    return AtomicRanking(
        recall=recall,
        scores=scores,
        parts=parts,
        keyword_scores=keyword_scores,
        order=order[allowed[order]],
        stands_out=find_outstanding(recall, compute_evidence(context, features)),
    )


def read_ranked(user: User, ranking: AtomicRanking, numbers: list[int]) -> list[ScoredAtomicMemory]:
    """Read the memories of these rows, in this order, with their scores; without those that have gone since."""
    ids = [uuid.UUID(bytes=ranking.recall.rows.keys[number].tobytes()) for number in numbers]
    candidates = read_candidates(user, ids)
    cosines = np.nan_to_num(ranking.recall.rows.cosine)
    return [
        ScoredAtomicMemory(
            candidate=candidates[key],
            score=float(ranking.scores[number]),
            keyword_score=float(ranking.keyword_scores[number]),
            semantic_score=float(cosines[number]),
            stands_out=bool(ranking.stands_out[number]),
            parts={name: float(points[number]) or 0.0 for name, points in ranking.parts.items()},  # no -0.0
        )
        for number, key in zip(numbers, ids, strict=True)
        if key in candidates
    ]
