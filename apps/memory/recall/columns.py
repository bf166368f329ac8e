"""What a query is ranked among: a person's memories as columns of numbers, in one round trip (A4).

Each column comes as one packed value: thousands of rows cost what one would. Up to `EXACT_SCAN_LIMIT` memories it is
all of them. Beyond, it is the best by BM25 and the nearest by vector, with the turns around each of them. Every number
is the person's own: lengths and document frequencies are those of their active memories.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.spaces import seen_sql, sight_parameters
from apps.core.db import fetch_prepared, fetch_rows
from apps.core.text.segment import is_cjk
from apps.memory.recall.features import K1, NEAR_TURNS, AtomicRecall, AtomicRows, B, Floats
from apps.memory.types import AtomicCandidate
from apps.memory.vectors.queries import QueryEmbedding

# Active memories of one person up to which all their vectors are compared (docs/models.md has the measurement).
EXACT_SCAN_LIMIT = 5_000

# Entries of the index that one step of the scan looks at: with it 99.5 % of what an exact scan would give.
EF_SEARCH = 400

# The query's vector, once, as a part of the statement; null where there is none.
QUERY = "query AS MATERIALIZED (SELECT %(vector)s::halfvec AS embedding)"


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


def recallable_sql(row: str) -> str:
    """The condition under which an active memory is recalled: not muted (L10), not over (D3), seen from here (P2)."""
    return (
        f"(%(with_withheld)s OR NOT {row}.muted AND ({row}.valid_until IS NULL OR {row}.valid_until > %(now)s))"
        f" AND {seen_sql(row)}"
    )


def recallable_parameters(user: User, *, with_withheld: bool, now: datetime) -> dict[str, Any]:
    """The parameters of `recallable_sql`. `with_withheld`: what is muted or over, too, for whoever compares."""
    return {"with_withheld": with_withheld, "now": now, **sight_parameters(user)}


def corpus_sql(memories: str, *, columns: str, exact: bool) -> str:
    """The SELECT of `columns`, aggregates, over the person's active memories: exactly, only as far as need be."""
    limit = "LIMIT %(exact_limit)s + 1" if exact else ""
    return f"""
    SELECT {columns}
    FROM (
        SELECT * FROM {memories}
        WHERE user_id = %(user)s AND status = 'active' AND {recallable_sql(memories)} {limit}
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


def nearest_sql(*, embeddings: str, memories: str, exact: bool) -> str:
    """The SELECT of (id, similarity) of the active rows of `memories` whose vectors in `embeddings` are nearest.

    It stands behind `QUERY` and ``corpus``, reads what `recallable_parameters` and `nearest_parameters` give, and gives
    at most ``limit`` rows. None of these comes from outside.
    """
    of_person = f"vector.user_id = %(user)s AND vector.model_id = %(model)s AND {gate_sql(exact=exact)}"
    # OFFSET 0 insists on looking up each memory by its ID: with statistics that do not know of this person's rows yet,
    # the planner would join each of them with each.
    active = f"""LATERAL (
        SELECT FROM {memories} AS memory
        WHERE memory.id = vector.memory_id AND memory.status = 'active'
              AND {recallable_sql("memory")}
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


def nearest_parameters(query_embedding: QueryEmbedding | None, *, limit: int, focused: bool = False) -> dict[str, Any]:
    """The parameters of `QUERY` and `nearest_sql` besides ``user``; without a vector nothing is near.

    `focused`: by the vector for ranking alone (`QueryEmbedding.focused_vector`).
    """
    vector = query_embedding and (query_embedding.focused_sql if focused else query_embedding.sql)
    return {
        "vector": vector,
        "model": query_embedding.model_id if query_embedding else None,
        "exact_limit": EXACT_SCAN_LIMIT,
        "ef_search": str(EF_SEARCH),
        "limit": limit,
    }


ARM_LIMIT = 100  # how many memories each arm gives where they are not all ranked

LONGEST_NAME = 40

_EPOCH = datetime(2000, 1, 1, tzinfo=UTC).timestamp()  # PostgreSQL counts microseconds from here

_QUERY = """query AS MATERIALIZED (
    SELECT %(vector)s::halfvec AS embedding, %(earlier_vector)s::halfvec AS earlier_embedding
)"""

_CORPUS = "count(*) AS memory_count, avg(term_count)::float8 AS average_length"

_OF_PERSON = f"memory.user_id = %(user)s AND memory.status = 'active' AND {recallable_sql('memory')}"

_COSINES = """
    SELECT vector.memory_id AS id,
           (1 - (vector.embedding <=> query.embedding))::float4 AS cosine,
           (1 - (vector.embedding <=> query.earlier_embedding))::float4 AS earlier_cosine
    FROM {embeddings} CROSS JOIN query
    WHERE vector.user_id = %(user)s AND vector.model_id = %(model)s"""

# Cosines are not joined to the memories here but by whoever reads them: with statistics that do not know of this
# person's rows yet, the planner would join each of them with each.
_RECALLABLE = {"recallable": "memory", "earlier": "earlier", "later": "later"}

_ALL = f"""document AS MATERIALIZED (SELECT NULL::int AS position, NULL::bigint AS document_frequency),
near AS ({_COSINES.format(embeddings="atomic_embedding AS vector")} AND {{gate}}
)"""

# The keyword arm scores as `compute_bm25` does, with idf alone, to know which rows to fetch; a test holds the two
# together.
_BEST = """occurrence AS MATERIALIZED (
    SELECT memory.id, memory.term_count, given.position,
           cardinality(array_positions(memory.terms, given.term)) AS frequency
    FROM atomic_memory AS memory, unnest(%(terms)s::text[], %(positions)s::int[]) AS given (term, position)
    WHERE memory.user_id = %(user)s AND memory.status = 'active' AND memory.terms && %(terms)s::text[]
      AND {recallable} AND given.term = ANY (memory.terms) AND {gate}
),
document AS MATERIALIZED (
    SELECT position, document_frequency,
           ln(1 + (memory_count - document_frequency + 0.5) / (document_frequency + 0.5)) AS idf
    FROM (SELECT position, count(*) AS document_frequency FROM occurrence GROUP BY position) AS frequency, corpus
),
best AS (
    SELECT occurrence.id
    FROM occurrence JOIN document USING (position), corpus
    GROUP BY occurrence.id
    ORDER BY sum(
        idf * frequency * (%(k1)s + 1)
        / (frequency + %(k1)s * (1 - %(b)s + %(b)s * term_count / average_length))
    ) DESC, occurrence.id
    LIMIT %(limit)s
),
nearest AS MATERIALIZED ({nearest}
),
hit AS (SELECT id FROM best UNION SELECT id FROM nearest),
chosen AS MATERIALIZED (
    SELECT id FROM hit
    UNION
    SELECT beside.id
    FROM hit JOIN atomic_memory AS memory USING (id) CROSS JOIN LATERAL (
        (
            SELECT earlier.id FROM atomic_memory AS earlier
            WHERE earlier.user_id = %(user)s AND earlier.session_id = memory.session_id AND earlier.status = 'active'
              AND {earlier}
              AND (earlier.timestamp, earlier.create_time, earlier.id)
                < (memory.timestamp, memory.create_time, memory.id)
            ORDER BY earlier.timestamp DESC, earlier.create_time DESC, earlier.id DESC LIMIT %(turns)s
        ) UNION ALL (
            SELECT later.id FROM atomic_memory AS later
            WHERE later.user_id = %(user)s AND later.session_id = memory.session_id AND later.status = 'active'
              AND {later}
              AND (later.timestamp, later.create_time, later.id)
                > (memory.timestamp, memory.create_time, memory.id)
            ORDER BY later.timestamp, later.create_time, later.id LIMIT %(turns)s
        )
    ) AS beside
),
near AS ({cosines}
)"""

# One packed value for each column; `string_agg` takes the rows of all of them in the same order.
_COLUMNS = """
SELECT
    string_agg(uuid_send(memory.id), ''),
    string_agg(uuid_send(coalesce(memory.session_id, memory.id)), ''),
    string_agg(timestamptz_send(memory.timestamp), ''),
    string_agg(timestamptz_send(coalesce(memory.event_start, memory.timestamp)), ''),
    string_agg(timestamptz_send(memory.create_time), ''),
    string_agg(int4send(memory.term_count), ''),
    string_agg(boolsend(right(memory.content, 1) IN ('?', '？')), ''),
    string_agg(
        CASE WHEN strpos(left(memory.content, %(longest_name)s + 2), ': ') > 0
             THEN translate(split_part(memory.content, ': ', 1), E'\\n\\r', '  ') ELSE '' END, E'\\n'
    ),
    string_agg(int4send(coalesce(length(found.pairs), 0)), ''),
    string_agg(found.pairs, ''),
    (SELECT string_agg(
        uuid_send(id) || float4send(coalesce(cosine, 'NaN')) || float4send(coalesce(earlier_cosine, 'NaN')), ''
    ) FROM near),
    (SELECT array_agg(position) FROM document),
    (SELECT array_agg(document_frequency) FROM document),
    (SELECT average_length FROM corpus),
    (SELECT memory_count FROM corpus)
FROM {memories}
LEFT JOIN LATERAL (
    SELECT string_agg(
        int4send(position) || int4send(cardinality(array_positions(memory.terms, term))), ''
    ) AS pairs
    FROM unnest(%(terms)s::text[], %(positions)s::int[]) AS given (term, position)
    WHERE term = ANY (memory.terms)
) AS found ON memory.terms && %(terms)s::text[]
WHERE {of_person}
"""


# OFFSET 0 insists on it: else the planner reads all the rows of somebody who has very many.
_CHOSEN_ONE_BY_ONE = """chosen CROSS JOIN LATERAL (
    SELECT * FROM atomic_memory WHERE atomic_memory.id = chosen.id OFFSET 0
) AS memory"""


def _write(exact: bool) -> str:
    corpus = f"corpus AS MATERIALIZED ({corpus_sql('atomic_memory', columns=_CORPUS, exact=exact)}\n)"
    gate = gate_sql(exact=exact)
    if exact:
        chosen, memories, of_person = _ALL.format(gate=gate), "atomic_memory AS memory", f"{_OF_PERSON} AND {gate}"
    else:
        chosen = _BEST.format(
            gate=gate,
            **{name: recallable_sql(row) for name, row in _RECALLABLE.items()},
            nearest=nearest_sql(embeddings="atomic_embedding", memories="atomic_memory", exact=False),
            cosines=_COSINES.format(
                embeddings="chosen JOIN atomic_embedding AS vector ON vector.memory_id = chosen.id"
            ),
        )
        memories, of_person = _CHOSEN_ONE_BY_ONE, _OF_PERSON
    columns = _COLUMNS.format(memories=memories, of_person=of_person)
    return f"WITH {_QUERY},\n{corpus},\n{chosen}{columns}"


_RECALL = NearestStatement(_write, embeddings="atomic_embedding")


def recall_atomic(
    user: User,
    *,
    terms: Sequence[str],
    query_embedding: QueryEmbedding | None,
    with_withheld: bool = False,
    now: datetime | None = None,
) -> AtomicRecall | None:
    """The user's active memories, all or the most promising, as columns; None where there are none.

    `terms`: the distinct ones of the query. `with_withheld`: as `recallable_parameters` says, at `now`. One statement;
    a second one for who has more than `EXACT_SCAN_LIMIT`.
    """
    if not (terms or query_embedding):
        return None
    sought = _list_sought(user, terms)
    parameters: dict[str, Any] = {
        "user": user.pk,
        "terms": [term for term, _position in sought],
        "positions": [position for _term, position in sought],
        "k1": K1,
        "b": B,
        **nearest_parameters(query_embedding, limit=ARM_LIMIT, focused=True),
        "earlier_vector": query_embedding.earlier_sql if query_embedding else None,
        **recallable_parameters(user, with_withheld=with_withheld, now=now or timezone.now()),
        "turns": NEAR_TURNS,
        "longest_name": LONGEST_NAME,
    }
    (row,) = _RECALL.fetch(parameters)
    keys, *_ = row
    if not keys:
        return None
    recall = _read(row, terms=len(terms))
    return recall if len(sought) <= len(terms) else _add_up(recall, terms=len(terms))


# Stored are words and pairs of neighbouring characters: what holds one character is one of these.
_TERMS_WITH = """
SELECT DISTINCT term
FROM atomic_memory AS memory, unnest(memory.terms) AS term
WHERE memory.user_id = %(user)s AND memory.status = 'active' AND strpos(term, %(character)s) > 0 AND {seen}
LIMIT %(limit)s
""".format(seen=seen_sql("memory"))


def _list_sought(user: User, terms: Sequence[str]) -> list[tuple[str, int]]:
    """The stored terms to look for, each with the place of the query's term that it stands for, counted from 1.

    They are the query's own, but where it has nothing else than single Chinese characters: 咪 is found in 咪咪.
    """
    if not all(len(term) == 1 and is_cjk(term) for term in terms):
        return [(term, place) for place, term in enumerate(terms, start=1)]
    found = []
    for place, character in enumerate(terms, start=1):
        parameters = {"user": user.pk, "character": character, "limit": ARM_LIMIT, **sight_parameters(user)}
        found += [(term, place) for (term,) in fetch_rows(_TERMS_WITH, parameters)]
    return found


def _read(row: Sequence[Any], *, terms: int) -> AtomicRecall:
    *columns, positions, frequencies, average_length, memory_count = row
    keys, sessions, times, happenings, created, lengths, asks, speakers, sizes, pairs, near = columns
    key = np.frombuffer(keys, "V16")
    _names, session = np.unique(np.frombuffer(sessions, "V16"), return_inverse=True)
    time, happened, create_time = (_unpack(packed, ">i8") / 1e6 + _EPOCH for packed in (times, happenings, created))
    order = np.lexsort((key, create_time, time, session))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    matches = np.frombuffer(pairs or b"", ">i4").reshape(-1, 2).astype(np.int64)
    matched_row = place[np.repeat(np.arange(len(key)), np.frombuffer(sizes, ">i4") // 8)]
    term = matches[:, 0] - 1
    speaker = speakers.split("\n")
    cosine, earlier_cosine = (column[order] for column in _join_cosines(key, near or b""))
    rows = AtomicRows(
        keys=key[order],
        session=session[order].astype(np.int64),
        time=time[order],
        happened=happened[order],
        created=create_time[order],
        length=_unpack(lengths, ">i4")[order],
        cosine=cosine,
        earlier_cosine=earlier_cosine,
        asks=np.frombuffer(asks, np.bool_)[order],
        speakers=tuple(speaker[number] for number in order.tolist()),
        row=matched_row,
        term=term,
        frequency=matches[:, 1].astype(np.float64),
    )
    if positions == [None]:  # all memories are here: what occurs in how many can be counted
        document_frequencies = np.bincount(term, minlength=terms).astype(np.float64)
    else:
        document_frequencies = np.zeros(terms)
        document_frequencies[np.asarray(positions or [], np.int64) - 1] = frequencies or []
    return AtomicRecall(
        rows=rows,
        memory_count=memory_count,
        average_length=average_length or 0.0,
        document_frequencies=document_frequencies,
    )


def _add_up(recall: AtomicRecall, *, terms: int) -> AtomicRecall:
    """Count a term for which several stored ones stand once in each memory, as often as all of them."""
    rows = recall.rows
    pairs, place = np.unique(rows.row * terms + rows.term, return_inverse=True)
    row, term = np.divmod(pairs, terms)
    frequency = np.bincount(place, weights=rows.frequency, minlength=len(pairs)).astype(np.float64)
    return replace(
        recall,
        rows=replace(rows, row=row, term=term, frequency=frequency),
        document_frequencies=np.bincount(term, minlength=terms).astype(np.float64),
    )


_NEAR = np.dtype([("id", "V16"), ("cosine", ">f4"), ("earlier_cosine", ">f4")])


def _join_cosines(keys: npt.NDArray[Any], near: bytes) -> Floats:
    """Both columns of cosines (2 x memories) in the order of the memories; NaN for those that have no vector."""
    place = {key: number for number, key in enumerate(keys.tolist())}
    found = np.frombuffer(near, _NEAR)
    rows = np.fromiter((place.get(key, -1) for key in found["id"].tolist()), np.int64, len(found))
    columns = np.full((2, len(keys) + 1), np.nan)  # the last place is for vectors of memories that are not among these
    columns[:, rows] = found["cosine"], found["earlier_cosine"]
    return columns[:, :-1]


def _unpack(packed: bytes, dtype: str) -> Floats:
    values: npt.NDArray[Any] = np.frombuffer(packed, dtype)
    return values.astype(np.float64)


_FIELDS = (
    *("id", "session_id", "message_id", "content", "tags", "timestamp", "event_start", "event_end"),
    *("valid_until", "create_time", "updated_at"),
)

_CANDIDATES = f"""
SELECT {", ".join(_FIELDS)}
FROM atomic_memory
WHERE user_id = %(user)s AND id = ANY (%(ids)s) AND status = 'active'
"""  # noqa: S608 - our own column names


def read_candidates(user: User, ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, AtomicCandidate]:
    """Return these memories of the user by ID, as far as they are still active. One statement."""
    if not ids:
        return {}
    found = fetch_rows(_CANDIDATES, {"user": user.pk, "ids": list(ids)})
    return {row[0]: AtomicCandidate(*row) for row in found}
