"""Reading folders of evaluation data in BEIR's layout (Thakur et al., 2021) as this project uses it.

``corpus.jsonl`` has one object a line: ``_id``, ``text`` and ``metadata`` with ``user_id``, ``session_id``, ``role``,
``speaker`` and ``timestamp`` (ISO 8601; without an offset it is UTC). Rows of a session are in order of time.
``queries.jsonl`` has ``_id``, ``text`` and ``metadata`` with ``user_id`` and ``category``; ``qrels/test.tsv``, under a
line of headings, the ID of a query, that of a row which answers it, and how well (a whole number above 0; 0: not).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from apps.core.text.clean import find_forbidden

CORPUS = "corpus.jsonl"
QUERIES = "queries.jsonl"
JUDGEMENTS = "qrels/test.tsv"


class InvalidFolder(Exception):
    """A folder that cannot be used; the message names the file, the line and the reason."""


@dataclass(frozen=True, slots=True)
class CorpusRow:
    """One thing said or remembered. `where` is its file and line, for messages about it."""

    id: str
    text: str
    user_id: str
    session_id: str
    role: str
    speaker: str
    timestamp: datetime
    where: str


@dataclass(frozen=True, slots=True)
class Query:
    """A question about what was said, with the rows that answer it: `relevant` has the grade of each by its ID."""

    id: str
    text: str
    user_id: str
    category: str
    relevant: Mapping[str, int]


def read_corpus(folder: Path) -> list[CorpusRow]:
    """Return the rows of ``corpus.jsonl``, in order. Raises `InvalidFolder` for the first thing that is wrong."""
    path = folder / CORPUS
    rows: dict[str, CorpusRow] = {}
    for where, fields in _read_objects(path):
        row = _read_row(fields, where)
        if earlier := rows.get(row.id):
            raise InvalidFolder(f"{where}: _id {row.id!r} was used before, at {earlier.where}")
        rows[row.id] = row
    if not rows:
        raise InvalidFolder(f"{path}: holds no rows")
    return list(rows.values())


def read_queries(folder: Path, *, corpus: Collection[CorpusRow]) -> list[Query]:
    """Return the queries that a row of `corpus` answers, in order; those without any cannot be judged.

    Raises `InvalidFolder` for the first thing that is wrong, such as a judgement about a row of another user: a query
    searches only its user's memories.
    """
    owners = {row.id: row.user_id for row in corpus}
    asked: dict[str, tuple[Mapping[str, Any], str]] = {}
    for where, fields in _read_objects(folder / QUERIES):
        query_id = _read_text(fields, "_id", where)
        if query_id in asked:
            raise InvalidFolder(f"{where}: _id {query_id!r} was used before, at {asked[query_id][1]}")
        asked[query_id] = fields, where
    judged: dict[str, dict[str, int]] = {}
    for where, query_id, row_id, grade in _read_judgements(folder / JUDGEMENTS):
        if query_id not in asked:
            raise InvalidFolder(f"{where}: there is no query {query_id!r}")
        if row_id not in owners:
            raise InvalidFolder(f"{where}: there is no row {row_id!r} in {CORPUS}")
        if grade > 0:
            judged.setdefault(query_id, {})[row_id] = grade
    queries = [
        _read_query(fields, where, owners=owners, relevant=judged.get(query_id, {}))
        for query_id, (fields, where) in asked.items()
    ]
    found = [query for query in queries if query.relevant]
    if not found:
        raise InvalidFolder(f"{folder}: no query has a relevant row")
    return found


def _read_query(
    fields: Mapping[str, Any], where: str, *, owners: Mapping[str, str], relevant: Mapping[str, int]
) -> Query:
    metadata = _read_metadata(fields, where)
    user_id = _read_text(metadata, "user_id", where)
    for row_id in relevant:
        if owners[row_id] != user_id:
            raise InvalidFolder(f"{where}: {row_id!r} is to answer it, and belongs to {owners[row_id]!r}")
    return Query(
        id=_read_text(fields, "_id", where),
        text=_read_text(fields, "text", where),
        user_id=user_id,
        category=_read_text(metadata, "category", where),
        relevant=relevant,
    )


def _read_judgements(path: Path) -> Iterator[tuple[str, str, str, int]]:
    """Yield where each line is, the query's ID, the row's and the grade; the line of headings is left out."""
    try:
        lines = path.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InvalidFolder(f"{path}: cannot be read: {reason}") from error
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        parts = line.rstrip("\r").split("\t")
        if len(parts) != 3:
            raise InvalidFolder(f"{where}: must be a query ID, a row ID and a grade, separated by tabs")
        query_id, row_id, grade = parts
        if not (grade.isascii() and grade.isdecimal() and len(grade) < 10):
            raise InvalidFolder(f"{where}: the grade {grade!r} is not a whole number")
        yield where, query_id, row_id, int(grade)


def _read_objects(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield where each line is and the object on it; empty lines are skipped."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise InvalidFolder(f"{path}: cannot be read: {error.strerror}") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:  # text that is no UTF-8 is a ValueError too
            raise InvalidFolder(f"{where}: is not valid JSON: {error}") from error
        if not isinstance(value, dict):
            raise InvalidFolder(f"{where}: is not a JSON object")
        if found := find_forbidden(value):
            raise InvalidFolder(f"{where}: holds {found}, which cannot be stored")
        yield where, value


def _read_row(fields: Mapping[str, Any], where: str) -> CorpusRow:
    metadata = _read_metadata(fields, where)
    return CorpusRow(
        id=_read_text(fields, "_id", where),
        text=_read_text(fields, "text", where),
        user_id=_read_text(metadata, "user_id", where),
        session_id=_read_text(metadata, "session_id", where),
        role=_read_text(metadata, "role", where),
        speaker=_read_text(metadata, "speaker", where),
        timestamp=_read_time(metadata, "timestamp", where),
        where=where,
    )


def _read_metadata(fields: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    metadata = fields.get("metadata")
    if not isinstance(metadata, dict):
        raise InvalidFolder(f"{where}: metadata must be an object")
    return metadata


def _read_text(fields: Mapping[str, Any], name: str, where: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InvalidFolder(f"{where}: {name} must be text that is not blank")
    return value


def _read_time(fields: Mapping[str, Any], name: str, where: str) -> datetime:
    text = _read_text(fields, name, where)
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidFolder(f"{where}: {name} {text!r} is not a time in ISO 8601") from error
