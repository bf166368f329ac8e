"""Rows to score, made by hand: no database, no embedder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from apps.core.text.bm25_terms import bm25_terms
from apps.memory.retrieval.atomic.query import AtomicQuery
from apps.memory.retrieval.atomic.types import AtomicRecall, AtomicRows

DAY = 86_400.0


def make_recall(
    contents: Sequence[str],
    query: str = "",
    *,
    sessions: Sequence[int] | None = None,
    cosines: Sequence[float] | None = None,
    last_cosines: Sequence[float] | None = None,
    times: Sequence[float] | None = None,
) -> AtomicRecall:
    """Memories with these contents, in this order; of one session and a day apart unless said."""
    count = len(contents)
    terms = list(AtomicQuery(query).weights)
    documents = [bm25_terms(content) for content in contents]
    found = [
        (row, number, float(document.count(term)))
        for row, document in enumerate(documents)
        for number, term in enumerate(terms)
        if term in document
    ]
    row, term, frequency = np.array(found, np.float64).reshape(-1, 3).T
    cosine = np.full(count, np.nan) if cosines is None else np.array(cosines, np.float64)
    length = np.array([len(document) for document in documents], np.float64)
    rows = AtomicRows(
        keys=np.array([number.to_bytes(16, "big") for number in range(count)], "V16"),
        session=np.array(sessions or [0] * count),
        time=np.array(times or [number * DAY for number in range(count)], np.float64),
        created=np.zeros(count),
        length=length,
        cosine=cosine,
        last_cosine=cosine if last_cosines is None else np.array(last_cosines, np.float64),
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
        document_frequencies=np.bincount(rows.term, minlength=len(terms)).astype(np.float64),
    )
