"""Retrieval of atomic memories from end to end: query → columns → features → score → rank (A4)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np

from apps.accounts.models import User
from apps.memory.embeddings.queries import QueryEmbedding
from apps.memory.retrieval.atomic.candidates import read_candidates, recall_atomic
from apps.memory.retrieval.atomic.features import compute_features, compute_keyword_scores, standardize
from apps.memory.retrieval.atomic.query import AtomicQuery
from apps.memory.retrieval.atomic.ranking import rank, weigh
from apps.memory.retrieval.atomic.types import AtomicRecall, Flags, Floats, Integers
from apps.memory.types import ScoredAtomicMemory

_UTC = ZoneInfo("UTC")


@dataclass(frozen=True, slots=True, eq=False)
class AtomicRanking:
    """Every row of a recall with its score. `order`: their numbers, best first; `eligible`: what may be an answer."""

    recall: AtomicRecall
    scores: Floats
    parts: Mapping[str, Floats]
    keyword_scores: Floats
    order: Integers
    eligible: Flags


def retrieve_atomic_memories(
    *,
    user: User,
    query: str,
    limit: int,
    query_embedding: QueryEmbedding | None,
    earlier: str = "",
    min_similarity: float | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    with_muted: bool = False,
    zone: ZoneInfo = _UTC,
    now: datetime | None = None,
) -> list[ScoredAtomicMemory]:
    """The user's `limit` most relevant active atomic memories for `query`, best first; [] when none matches.

    `query` may be a question, keywords, or the lines of a dialogue. `earlier`: the lines before it, where it needs them
    (`find_earlier`). `query_embedding` is its vector; with None keywords alone answer. A memory in which no term of the
    query occurs has to be as near to it as `min_similarity` (by default the embedder's own floor). `since`, `until`:
    bounds of the time of a memory's turn, included. Muted memories are found only `with_muted` (L10). `now` (by default
    the time of the newest memory) and `zone`: from where "last May" is seen. Two statements. Nothing is counted.
    """
    asked = AtomicQuery(query, earlier=earlier)
    if limit < 1:
        return []
    recall = recall_atomic(user, terms=asked.terms, query_embedding=query_embedding, with_muted=with_muted)
    if recall is None:
        return []
    floor = find_floor(query_embedding, min_similarity)
    ranking = rank_recall(recall, asked, floor=floor, since=since, until=until, zone=zone, now=now)
    chosen = [number for number in ranking.order if ranking.eligible[number]][:limit]
    return read_ranked(user, ranking, chosen)


def find_similar_memories(
    *, user: User, text: str, limit: int, query_embedding: QueryEmbedding | None, with_muted: bool = False
) -> list[uuid.UUID]:
    """The user's `limit` active atomic memories that are most like `text`, best first, whether like it or not.

    By words and meaning alone, which count alike: for whoever compares memories with each other, it does not matter how
    long one is, who said it or when. `query_embedding` is the vector of `text`. One statement.
    """
    asked = AtomicQuery(text)
    recall = recall_atomic(user, terms=asked.terms, query_embedding=query_embedding, with_muted=with_muted)
    if recall is None:
        return []
    scores = standardize(compute_keyword_scores(recall, asked)) + standardize(recall.rows.cosine)
    order = rank(scores, times=recall.rows.time)[:limit]
    return [uuid.UUID(bytes=recall.rows.keys[number].tobytes()) for number in order]


def find_floor(query_embedding: QueryEmbedding | None, min_similarity: float | None) -> float:
    """The cosine that a memory needs in which no term of the query occurs."""
    if min_similarity is not None:
        return min_similarity
    return query_embedding.min_similarity if query_embedding else 1.0


def rank_recall(
    recall: AtomicRecall,
    query: AtomicQuery,
    *,
    floor: float,
    since: datetime | None = None,
    until: datetime | None = None,
    zone: ZoneInfo = _UTC,
    now: datetime | None = None,
) -> AtomicRanking:
    """Score every row and put the best first; equal ones by time, newest first."""
    rows = recall.rows
    said_at = now or datetime.fromtimestamp(float(rows.time.max()), UTC)
    features = compute_features(recall, query, times=query.list_times(said_at=said_at, zone=zone))
    parts = weigh(features)
    scores = np.sum(list(parts.values()), axis=0)
    keyword_scores = compute_keyword_scores(recall, query)
    # In a conversation, a turn beside the words that were asked for may be the answer without having any of them.
    eligible = (keyword_scores > 0) | (rows.cosine >= floor) | (features["words_near"] > 0)
    if query.earlier:
        eligible |= (features["earlier_words"] > 0) | (rows.earlier_cosine >= floor)
    if since is not None:
        eligible &= rows.time >= since.timestamp()
    if until is not None:
        eligible &= rows.time <= until.timestamp()
    return AtomicRanking(
        recall=recall,
        scores=scores,
        parts=parts,
        keyword_scores=keyword_scores,
        order=rank(scores, times=rows.time),
        eligible=eligible,
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
            parts={name: float(points[number]) or 0.0 for name, points in ranking.parts.items()},  # no -0.0
        )
        for number, key in zip(numbers, ids, strict=True)
        if key in candidates
    ]
