"""One BEIR folder through ingestion and retrieval as production does both, in accounts made for it alone (A4)."""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path

from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.services.people import create_scratch_user
from apps.conversations.services import create_session
from apps.conversations.types import MAX_TITLE_CHARS
from apps.core.beir import CorpusRow, Query, read_corpus, read_queries
from apps.memory.atomic.services import create_atomic_memories
from apps.memory.atomic.types import AtomicDraft
from apps.memory.embeddings.memories import embed_memories, store_memory_embeddings
from apps.memory.embeddings.queries import embed_query
from apps.memory.evaluation.types import ExplainedRow, Folder, Ranking
from apps.memory.models import AtomicEmbedding, AtomicMemory
from apps.memory.retrieval.atomic import retrieve_atomic_memories
from apps.memory.retrieval.atomic.candidates import recall_atomic
from apps.memory.retrieval.atomic.query import AtomicQuery
from apps.memory.retrieval.atomic.ranking import rank
from apps.memory.retrieval.atomic.retrieve import AtomicRanking, rank_recall, read_ranked
from apps.memory.types import MemoryKind

BATCH = 100
"""Memories stored, and embedded, at once."""

Advance = Callable[[], None]


def read_folders(paths: Sequence[Path]) -> list[Folder]:
    """Read and check folders; one given twice counts once, and folders of the same name go by their whole paths.

    Raises `apps.core.beir.InvalidFolder`.
    """
    unique = list(dict.fromkeys(path.resolve() for path in paths))
    names = [path.name for path in unique]
    folders = []
    for path in unique:
        corpus = read_corpus(path)
        name = path.name if names.count(path.name) == 1 else str(path)
        folders.append(Folder(name=name, corpus=corpus, queries=read_queries(path, corpus=corpus)))
    return folders


@contextmanager
def make_scratch_users(user_ids: Sequence[str]) -> Iterator[dict[str, User]]:
    """Make an account for each of these, which nobody can log in to, and delete it with all it holds at the end."""
    users: dict[str, User] = {}
    try:
        for user_id in dict.fromkeys(user_ids):
            users[user_id] = create_scratch_user(username=f"evaluation-{uuid.uuid4()}")
        yield users
    finally:
        for user in users.values():
            user.delete()


def ingest(user: User, rows: Sequence[CorpusRow], *, advance: Advance) -> dict[uuid.UUID, str]:
    """Store each row as one active memory, nothing merged or superseded; returns the row's ID of each memory."""
    sessions = {
        session_id: create_session(user=user, title=session_id[:MAX_TITLE_CHARS]).id
        for session_id in dict.fromkeys(row.session_id for row in rows)
    }
    known: dict[uuid.UUID, str] = {}
    left = iter(rows)
    while batch := list(islice(left, BATCH)):
        drafts = [
            AtomicDraft(
                content=f"{row.speaker}: {row.text}", timestamp=row.timestamp, session_id=sessions[row.session_id]
            )
            for row in batch
        ]
        memories = create_atomic_memories(user=user, drafts=drafts, now=timezone.now())
        _embed_missing(user, memories)
        for memory, row in zip(memories, batch, strict=True):
            known[memory.id] = row.id
            advance()
    return known


def _embed_missing(user: User, memories: Sequence[AtomicMemory]) -> None:
    """Make the vectors that are left to workers where the model is a server; here nothing may be missing."""
    embedded = set(AtomicEmbedding.objects.filter(memory__in=memories).values_list("memory_id", flat=True))
    if missing := [memory for memory in memories if memory.id not in embedded]:
        vectors = embed_memories([memory.content for memory in missing])
        ids = [memory.id for memory in missing]
        store_memory_embeddings(user=user, kind=MemoryKind.ATOMIC, memory_ids=ids, vectors=vectors)


def ask(
    user: User, query: Query, *, known: Mapping[uuid.UUID, str], limit: int, ablate: bool = False, explain: bool = False
) -> Ranking:
    """Retrieve as a turn does, and take the time; then find out what else is asked for."""
    start = time.perf_counter()
    query_embedding = embed_query(query.text)
    found = retrieve_atomic_memories(user=user, query=query.text, limit=limit, query_embedding=query_embedding)
    milliseconds = (time.perf_counter() - start) * 1000
    ranked = [known[memory.candidate.id] for memory in found]
    ranking = Ranking(query=query, ranked=ranked, milliseconds=milliseconds, late=query_embedding is None)
    asked = AtomicQuery(query.text)
    recall = recall_atomic(user, terms=asked.terms, query_embedding=query_embedding) if ablate or explain else None
    if recall is None:
        return ranking
    scored = rank_recall(recall, asked)
    row_ids = [known[uuid.UUID(bytes=key.tobytes())] for key in recall.rows.keys]
    if ablate:
        ranking = replace(ranking, without=_ablate(scored, row_ids, limit=limit))
    if explain:
        ranking = replace(ranking, explained=_explain(user, scored, row_ids, query=query, limit=limit))
    return ranking


def _ablate(scored: AtomicRanking, row_ids: Sequence[str], *, limit: int) -> dict[str, list[str]]:
    """The answers that there would be without each feature."""
    answers = {}
    for name, points in scored.parts.items():
        order = rank(scored.scores - points, times=scored.recall.rows.time)
        answers[name] = [row_ids[number] for number in order[:limit]]
    return answers


def _explain(
    user: User, scored: AtomicRanking, row_ids: Sequence[str], *, query: Query, limit: int
) -> list[ExplainedRow]:
    """The first rows of an answer, and every relevant one."""
    numbers = [
        number for place, number in enumerate(scored.order) if place < limit or row_ids[number] in query.relevant
    ]
    places = {number: place for place, number in enumerate(scored.order, start=1)}
    memories = read_ranked(user, scored, numbers)
    return [
        ExplainedRow(
            place=places[number],
            row_id=row_ids[number],
            text=memory.candidate.content,
            score=memory.score,
            parts=memory.parts,
            relevant=row_ids[number] in query.relevant,
            stands_out=memory.stands_out,
        )
        for number, memory in zip(numbers, memories, strict=True)
    ]


def evaluate(
    folder: Folder, *, limit: int, advance: Advance, ablate: bool = False, explain: str | None = None
) -> list[Ranking]:
    """Ingest a folder and ask all its queries, `limit` results each; `advance` is called for each row and query.

    `ablate`: also without each feature. `explain`: the ID of a query whose answer is explained.
    """
    rows: dict[str, list[CorpusRow]] = defaultdict(list)
    for row in folder.corpus:
        rows[row.user_id].append(row)
    with make_scratch_users(list(rows)) as users:
        known: dict[uuid.UUID, str] = {}
        for user_id, user in users.items():
            known |= ingest(user, rows[user_id], advance=advance)
        embed_query("warm-up", deadline=60)  # loading the model is no part of a turn
        rankings = []
        for query in folder.queries:
            rankings.append(
                ask(
                    users[query.user_id],
                    query,
                    known=known,
                    limit=limit,
                    ablate=ablate,
                    explain=query.id == explain,
                )
            )
            advance()
        return rankings
