"""The memories of one person that are nearest to a query, as a part of a larger statement (A4, K9).

A vector index filters after it has searched, so with one alone a person with few of all the rows would find nothing.
Up to `EXACT_SCAN_LIMIT` memories all of the person's vectors are compared, which is exact; beyond, the index is read on
until enough of the rows it gives are theirs, once it has all of them (`apps.memory.vectors.indexing`). These are two
statements. The first has one good plan, whoever asks, and making it takes longer than carrying it out, so it is made
once; the second is planned for its person.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from apps.core.db import fetch_prepared, fetch_rows
from apps.memory.vectors.queries import QueryEmbedding

EXACT_SCAN_LIMIT = 5_000
"""Active memories of one person up to which all their vectors are compared (docs/retrieval.md has the measurement)."""

EF_SEARCH = 400
"""Entries of the index that one step of the scan looks at: with it 99.5 % of what an exact scan would give."""

QUERY = "query AS MATERIALIZED (SELECT %(vector)s::halfvec AS embedding)"
"""The query's vector, once, as a part of the statement; null where there is none."""


_NO_LIMIT = 2**31

_IS_MISSING = """
SELECT EXISTS (SELECT FROM {embeddings} WHERE user_id = %(user)s AND model_id = %(model)s AND NOT in_index)
"""


class NearestStatement:
    """A statement in its two versions, each made by `write(exact=…)`.

    Its ``corpus`` is made of `corpus_sql`, every arm that reads memories has `gate_sql` among its conditions, and there
    is always a row, with the number of memories in its last column.
    """

    def __init__(self, write: Callable[[bool], str], *, embeddings: str) -> None:
        self._exact, self._by_index = write(True), write(False)
        self._is_missing = _IS_MISSING.format(embeddings=embeddings)

    def fetch(self, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Return the rows of the version that fits the number of the person's memories; JSON comes as text."""
        rows = fetch_prepared(self._exact, parameters)
        if rows[0][-1] <= EXACT_SCAN_LIMIT:
            return rows
        ((is_missing,),) = fetch_rows(self._is_missing, parameters)
        if is_missing:
            return fetch_prepared(self._exact, {**parameters, "exact_limit": _NO_LIMIT})
        return fetch_rows(self._by_index, parameters)


def corpus_sql(memories: str, *, columns: str, exact: bool) -> str:
    """The SELECT of `columns`, aggregates, over the person's active memories: exactly, only as far as need be."""
    limit = "LIMIT %(exact_limit)s + 1" if exact else ""
    return f"""
    SELECT {columns}
    FROM (
        SELECT * FROM {memories}
        WHERE user_id = %(user)s AND status = 'active' AND (%(with_muted)s OR NOT muted) {limit}
    ) AS memory"""  # noqa: S608 - our own names


def gate_sql(*, exact: bool) -> str:
    """The condition under which an arm reads anything, evaluated once and before it does.

    That of the index always holds: since the exact version counted, some of the memories may have gone. It sets how the
    index is read, for this statement; in a transaction for the rest of that.
    """
    if exact:
        return "(SELECT memory_count <= %(exact_limit)s FROM corpus)"
    return """(
        SELECT set_config('hnsw.iterative_scan', 'strict_order', true) IS NOT NULL
               AND set_config('hnsw.ef_search', %(ef_search)s, true) IS NOT NULL
    )"""


def nearest_sql(*, embeddings: str, memories: str, where: str = "true", exact: bool) -> str:
    """The SELECT of (id, similarity) of the active rows of `memories` whose vectors in `embeddings` are nearest.

    It stands behind `QUERY` and ``corpus``, reads ``with_muted`` (L10) and what `nearest_parameters` gives, and gives
    at most ``limit`` rows. `where` narrows the memories, called ``memory``. None of these comes from outside.
    """
    of_person = f"vector.user_id = %(user)s AND vector.model_id = %(model)s AND {gate_sql(exact=exact)}"
    # OFFSET 0 insists on looking up each memory by its ID: with statistics that do not know of this person's rows yet,
    # the planner would join each of them with each.
    active = f"""LATERAL (
        SELECT FROM {memories} AS memory
        WHERE memory.id = vector.memory_id AND memory.status = 'active' AND {where}
              AND (%(with_muted)s OR NOT memory.muted)
        OFFSET 0
    ) AS found"""
    # The exact scan compares first and looks up only until there are enough; the index has to stand beside the limit to
    # be read that way.
    if exact:
        return f"""
    SELECT memory_id AS id, 1 - distance AS similarity
    FROM (
        SELECT memory_id, vector.embedding <=> (SELECT embedding FROM query) AS distance
        FROM {embeddings} AS vector
        WHERE {of_person}
        ORDER BY distance
    ) AS vector CROSS JOIN {active}
    ORDER BY distance
    LIMIT %(limit)s"""  # noqa: S608 - as above
    return f"""
    SELECT vector.memory_id AS id, 1 - (vector.embedding <=> (SELECT embedding FROM query)) AS similarity
    FROM {embeddings} AS vector CROSS JOIN {active}
    WHERE {of_person} AND vector.in_index
    ORDER BY vector.embedding <=> (SELECT embedding FROM query)
    LIMIT %(limit)s"""  # noqa: S608 - as above


def nearest_parameters(query_embedding: QueryEmbedding | None, *, limit: int) -> dict[str, Any]:
    """The parameters of `QUERY` and `nearest_sql` besides ``user``; without a vector nothing is near."""
    return {
        "vector": query_embedding.sql if query_embedding else None,
        "model": query_embedding.model_id if query_embedding else None,
        "exact_limit": EXACT_SCAN_LIMIT,
        "ef_search": str(EF_SEARCH),
        "limit": limit,
    }
