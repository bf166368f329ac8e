"""BM25 (Robertson and Zaragoza 2009) as Lucene computes it. Pure, no Django."""

from __future__ import annotations

from collections.abc import Iterable

from apps.memory.retrieval.atomic.types import AtomicCorpus, TermMatch
from apps.memory.retrieval.scoring import compute_idf

K1 = 0.9
"""How soon a further occurrence of a term stops to count."""

B = 0.4
"""How much a long memory's terms count less. Both are the defaults of Anserini and BEIR, not tuned here."""


def compute_bm25(matches: Iterable[TermMatch], *, length: int, corpus: AtomicCorpus) -> float:
    """The sum over the query's distinct terms of idf · saturated frequency; 0 when none occurs, no upper bound.

    ``length``: terms of the memory, ``matches``: those of the query's that occur in it. A term counts once however
    often the query repeats it: in a query that is a dialogue, repetition is manner of speaking.
    """
    norm = K1 * (1 - B + B * length / corpus.average_length) if corpus.average_length else K1
    return sum(
        compute_idf(memory_count=corpus.memory_count, document_frequency=match.document_frequency)
        * match.frequency
        * (K1 + 1)
        / (match.frequency + norm)
        for match in matches
    )
