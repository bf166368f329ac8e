"""BM25 (Robertson and Zaragoza 2009) as Lucene computes it. Pure, no Django."""

from __future__ import annotations

import numpy as np

from apps.memory.retrieval.atomic.types import AtomicRecall, Floats

K1 = 0.9
"""How soon a further occurrence of a term stops to count."""

B = 0.4
"""How much a long memory's terms count less. Both are the defaults of Anserini and BEIR, not tuned here."""


def compute_idfs(recall: AtomicRecall) -> Floats:
    """Return the inverse document frequency of each term, in nats, always above 0."""
    frequencies = recall.document_frequencies
    idfs: Floats = np.log(1 + (recall.memory_count - frequencies + 0.5) / (frequencies + 0.5))
    return idfs


def compute_bm25(recall: AtomicRecall, weights: Floats) -> Floats:
    """Return the score of each row: the sum over the query's distinct terms of weight · saturated frequency.

    `weights`: of each term, for BM25 as it is published the idf; 0 leaves one out. The score is 0 where no term occurs,
    without an upper bound. A term counts once however often the query repeats it: in a dialogue, repetition is manner
    of speaking.
    """
    rows = recall.rows
    average = recall.average_length or 1.0
    norm = K1 * (1 - B + B * rows.length / average)
    gains = weights[rows.term] * rows.frequency * (K1 + 1) / (rows.frequency + norm[rows.row])
    return np.bincount(rows.row, weights=gains, minlength=len(rows)).astype(np.float64)
