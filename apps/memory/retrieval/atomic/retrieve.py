"""Hybrid retrieval of atomic memories from end to end: terms and vector → candidates → fusion → rank (A4)."""

from __future__ import annotations

from datetime import datetime

from apps.accounts.models import User
from apps.core.text.bm25_terms import bm25_terms
from apps.memory.embeddings.queries import QueryEmbedding
from apps.memory.retrieval.atomic.bm25 import compute_bm25
from apps.memory.retrieval.atomic.candidates import recall_atomic
from apps.memory.retrieval.atomic.fusion import fuse_scores
from apps.memory.retrieval.atomic.types import AtomicRecall
from apps.memory.types import ScoredAtomicMemory

CANDIDATE_LIMIT = 50


def retrieve_atomic_memories(
    *,
    user: User,
    query: str,
    limit: int,
    query_embedding: QueryEmbedding | None,
    candidate_limit: int = CANDIDATE_LIMIT,
    min_similarity: float | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    with_muted: bool = False,
) -> list[ScoredAtomicMemory]:
    """The user's `limit` most relevant active atomic memories for `query`, best first; [] when none matches.

    ``query`` may be a question, keywords, or the lines of a dialogue. ``query_embedding`` is its vector; with None
    keywords alone answer. A memory in which no term of the query occurs has to be as near to it as ``min_similarity``
    (by default the embedder's own floor). ``since``, ``until``: bounds of the time of a memory's turn, included.
    Muted memories are found only ``with_muted`` (L10). One statement. Nothing is counted.
    """
    recall = recall_atomic(
        user,
        terms=bm25_terms(query),
        query_embedding=query_embedding,
        candidate_limit=max(candidate_limit, limit),
        since=since,
        until=until,
        with_muted=with_muted,
    )
    floor = min_similarity
    if floor is None:
        floor = query_embedding.min_similarity if query_embedding else 1.0
    # What else is to count (neighbouring memories, the session, single sentences) joins in `rank_recall`.
    return [memory for memory in rank_recall(recall) if memory.keyword_score or memory.semantic_score >= floor][:limit]


def rank_recall(recall: AtomicRecall) -> list[ScoredAtomicMemory]:
    """Score every candidate by both arms and put the best first; equal ones by time, newest first, then by id."""
    found = recall.candidates
    keyword = [compute_bm25(memory.matches, length=memory.length, corpus=recall.corpus) for memory in found]
    scores = fuse_scores(keyword=keyword, semantic=[memory.similarity for memory in found])
    ranked = [
        ScoredAtomicMemory(
            candidate=memory.candidate,
            score=score,
            keyword_score=by_keyword,
            semantic_score=memory.similarity or 0.0,
        )
        for memory, score, by_keyword in zip(found, scores, keyword, strict=True)
    ]
    ranked.sort(key=_order)
    return ranked


def _order(memory: ScoredAtomicMemory) -> tuple[float, float, str]:
    return -memory.score, -memory.candidate.timestamp.timestamp(), str(memory.candidate.id)
