"""Queries with what they are ranked among, from BEIR folders, without a database: for training and judging weights."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np

from apps.core.beir import CorpusRow
from apps.core.llm.embedding.local import LocalEmbedder
from apps.core.llm.embedding.types import Vector
from apps.core.text.bm25_terms import bm25_terms
from apps.memory.embeddings.vectors import embed_whole
from apps.memory.evaluation.types import Folder
from apps.memory.retrieval.atomic.features import compute_features
from apps.memory.retrieval.atomic.query import AtomicQuery, split_lines
from apps.memory.retrieval.atomic.types import AtomicRecall, AtomicRows, Floats

FOLDS = 5
_ZONE = ZoneInfo("UTC")


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """A query with the features of all rows of its user, shape (n, features), and which of these are relevant."""

    folder: str
    query_id: str
    fold: int
    features: Floats
    relevant: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Memories:
    ids: Sequence[str]
    counts: Sequence[Counter[str]]
    rows: Callable[[AtomicQuery, Vector, Vector], AtomicRecall]
    newest: datetime


def read_judged(folder: Folder, *, advance: Callable[[], None]) -> Iterator[Judged]:
    """Yield each query of a folder; `advance` is called for each row and query."""
    by_user: dict[str, list[CorpusRow]] = defaultdict(list)
    for row in folder.corpus:
        by_user[row.user_id].append(row)
    memories = {user_id: _remember(rows, advance=advance) for user_id, rows in by_user.items()}
    folds = assign_folds([query.user_id for query in folder.queries])
    for query, fold in zip(folder.queries, folds, strict=True):
        known = memories[query.user_id]
        lines = split_lines(query.text)
        vectors = _embed([query.text, lines[-1]])
        asked = AtomicQuery(query.text)
        features = compute_features(
            known.rows(asked, vectors[0], vectors[1]), asked, times=asked.list_times(said_at=known.newest, zone=_ZONE)
        )
        relevant = np.array([float(query.relevant.get(row_id, 0) > 0) for row_id in known.ids])
        advance()
        yield Judged(
            folder=folder.name,
            query_id=query.id,
            fold=fold,
            features=np.stack(list(features.values()), axis=1),
            relevant=relevant,
        )


def assign_folds(user_ids: Sequence[str]) -> list[int]:
    """The fold of each query: of one person all in the same one, if there are enough people, else by their order.

    What stands behind an @ is not part of a person's name: several snapshots are of one person.
    """
    people = [user_id.partition("@")[0] for user_id in user_ids]
    numbers = {person: number for number, person in enumerate(sorted(set(people)))}
    if len(numbers) < FOLDS:
        return [number % FOLDS for number in range(len(user_ids))]
    return [numbers[person] % FOLDS for person in people]


def _remember(rows: Sequence[CorpusRow], *, advance: Callable[[], None]) -> _Memories:
    """Prepare one person's rows as the product stores them: "speaker: text", in order within each session."""
    sessions = {session_id: number for number, session_id in enumerate(dict.fromkeys(row.session_id for row in rows))}
    ordered = sorted(rows, key=lambda row: (sessions[row.session_id], row.timestamp))
    contents = [f"{row.speaker}: {row.text}" for row in ordered]
    counts = [Counter(bm25_terms(content)) for content in contents]
    vectors = np.stack(_embed(contents, advance=advance))
    session = np.array([sessions[row.session_id] for row in ordered])
    time = np.array([row.timestamp.timestamp() for row in ordered])
    length = np.array([float(count.total()) for count in counts])
    asks = np.array([content.endswith(("?", "？")) for content in contents])
    postings: Mapping[str, list[tuple[int, int]]] = defaultdict(list)
    for number, count in enumerate(counts):
        for term, frequency in count.items():
            postings[term].append((number, frequency))

    def recall(query: AtomicQuery, vector: Vector, last_vector: Vector) -> AtomicRecall:
        found = [
            (row, position, frequency)
            for position, term in enumerate(query.weights)
            for row, frequency in postings.get(term, ())
        ]
        row, term, frequency = np.array(found, np.int64).reshape(-1, 3).T
        columns = AtomicRows(
            keys=np.zeros(len(ordered), "V16"),
            session=session,
            time=time,
            created=time,
            length=length,
            cosine=vectors @ vector,
            last_cosine=vectors @ last_vector,
            asks=asks,
            speakers=tuple(row.speaker for row in ordered),
            row=row,
            term=term,
            frequency=frequency.astype(np.float64),
        )
        return AtomicRecall(
            rows=columns,
            memory_count=len(ordered),
            average_length=float(length.mean()),
            document_frequencies=np.bincount(term, minlength=len(query.weights)).astype(np.float64),
        )

    return _Memories(
        ids=[row.id for row in ordered],
        counts=counts,
        rows=recall,
        newest=datetime.fromtimestamp(float(time.max()), UTC),
    )


_BATCH = 100


def _embed(texts: Sequence[str], *, advance: Callable[[], None] | None = None) -> list[Vector]:
    vectors: list[Vector] = []
    for start in range(0, len(texts), _BATCH):
        for vector in embed_whole(_EMBEDDER, texts[start : start + _BATCH]):
            if vector is None:
                raise ValueError("the local embedder refuses no text")
            vectors.append(vector)
            if advance is not None:
                advance()
    return vectors


_EMBEDDER = LocalEmbedder()
