"""Queries with what they are ranked among, from BEIR folders, without a database: for training and judging weights."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
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
from apps.memory.retrieval.atomic.features import FEATURES, compute_features
from apps.memory.retrieval.atomic.query import AtomicQuery, split_lines
from apps.memory.retrieval.atomic.types import AtomicRecall, AtomicRows, Floats, Integers

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
    """One person's rows as the product stores them: "speaker: text", in order within each session."""

    ids: Sequence[str]
    contents: Sequence[str]
    documents: Sequence[Counter[str]]
    sessions: Integers
    times: Floats
    vectors: Floats


def read_judged(folder: Folder, *, advance: Callable[[], None]) -> Iterator[Judged]:
    """Yield each query of a folder; `advance` is called for each row and query."""
    by_user: dict[str, list[CorpusRow]] = defaultdict(list)
    for row in folder.corpus:
        by_user[row.user_id].append(row)
    memories = {user_id: _remember(rows, advance=advance) for user_id, rows in by_user.items()}
    folds = assign_folds([query.user_id for query in folder.queries])
    for query, fold in zip(folder.queries, folds, strict=True):
        known, asked = memories[query.user_id], AtomicQuery(query.text)
        vector, last_vector = embed([query.text, split_lines(query.text)[-1]])
        recall = make_recall(
            known.contents,
            asked,
            documents=known.documents,
            sessions=known.sessions,
            times=known.times,
            cosine=known.vectors @ vector,
            last_cosine=known.vectors @ last_vector,
        )
        newest = datetime.fromtimestamp(float(known.times.max()), UTC)
        features = compute_features(recall, asked, times=asked.list_times(said_at=newest, zone=_ZONE))
        advance()
        yield Judged(
            folder=folder.name,
            query_id=query.id,
            fold=fold,
            features=np.stack([features[name] for name in FEATURES], axis=1),
            relevant=np.array([float(query.relevant.get(row_id, 0) > 0) for row_id in known.ids]),
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


def make_recall(
    contents: Sequence[str],
    query: AtomicQuery,
    *,
    documents: Sequence[Counter[str]] | None = None,
    sessions: Sequence[int] | Integers | None = None,
    times: Sequence[float] | Floats | None = None,
    cosine: Sequence[float] | Floats | None = None,
    last_cosine: Sequence[float] | Floats | None = None,
    earlier_cosine: Sequence[float] | Floats | None = None,
) -> AtomicRecall:
    """Return what a recall of memories with these contents would be, without a database.

    `documents`: the terms of each, where they are known. `sessions`: ascending numbers; unless said, each memory is in
    one of its own. `times`: in seconds; unless said, in the order given.
    """
    count = len(contents)
    documents = documents or [Counter(bm25_terms(content)) for content in contents]
    found = [
        (row, number, float(document[term]))
        for number, term in enumerate(query.terms)
        for row, document in enumerate(documents)
        if term in document
    ]
    row, term, frequency = np.array(found, np.float64).reshape(-1, 3).T
    length = np.array([float(document.total()) for document in documents])

    def column(values: Sequence[float] | Floats | None) -> Floats:
        return np.full(count, np.nan) if values is None else np.array(values, np.float64)

    rows = AtomicRows(
        keys=np.array([number.to_bytes(16, "big") for number in range(count)], "V16"),
        session=np.arange(count) if sessions is None else np.array(sessions, np.int64),
        time=np.arange(float(count)) if times is None else np.array(times, np.float64),
        happened=np.arange(float(count)) if times is None else np.array(times, np.float64),
        created=np.zeros(count),
        length=length,
        cosine=column(cosine),
        last_cosine=column(cosine if last_cosine is None else last_cosine),
        earlier_cosine=column(earlier_cosine),
        asks=np.array([content.endswith(("?", "？")) for content in contents]),
        speakers=tuple(content.partition(": ")[0] if ": " in content else "" for content in contents),
        row=row.astype(np.int64),
        term=term.astype(np.int64),
        frequency=frequency,
    )
    return AtomicRecall(
        rows=rows,
        memory_count=count,
        average_length=float(length.mean()),
        document_frequencies=np.bincount(rows.term, minlength=len(query.terms)).astype(np.float64),
    )


def _remember(rows: Sequence[CorpusRow], *, advance: Callable[[], None]) -> _Memories:
    numbers = {session_id: number for number, session_id in enumerate(dict.fromkeys(row.session_id for row in rows))}
    ordered = sorted(rows, key=lambda row: (numbers[row.session_id], row.timestamp))
    contents = [f"{row.speaker}: {row.text}" for row in ordered]
    return _Memories(
        ids=[row.id for row in ordered],
        contents=contents,
        documents=[Counter(bm25_terms(content)) for content in contents],
        sessions=np.array([numbers[row.session_id] for row in ordered]),
        times=np.array([row.timestamp.timestamp() for row in ordered]),
        vectors=np.stack(embed(contents, advance=advance)).astype(np.float64),
    )


def embed(texts: Sequence[str], *, advance: Callable[[], None] = lambda: None) -> list[Vector]:
    """Return the vector of each text by the local embedder, which refuses none; `advance` is called for each."""
    vectors: list[Vector] = []
    for start in range(0, len(texts), _BATCH):
        for vector in embed_whole(_EMBEDDER, texts[start : start + _BATCH]):
            if vector is None:
                raise ValueError("the local embedder refused a text")
            vectors.append(vector)
            advance()
    return vectors


_BATCH = 100
_EMBEDDER = LocalEmbedder()
