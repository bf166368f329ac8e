"""Read folders of evaluation data in BEIR's layout (Thakur et al., 2021).

``corpus.jsonl`` has one object a line: ``_id``, ``text`` and ``metadata`` with ``user_id``, ``session_id``, ``role``,
``speaker`` and ``timestamp`` (ISO 8601; without an offset it is UTC). Rows of a session are in order of time.
``queries.jsonl`` has ``_id``, ``text`` and ``metadata`` with ``user_id``, ``category`` and perhaps a reference
``answer``. ``qrels/test.tsv`` has a line of headings, then on each line the ID of a query, the ID of a row that answers
it, and a grade (a whole number; 0: no answer).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from apps.core.text.clean import find_forbidden

CORPUS, QUERIES, JUDGEMENTS = "corpus.jsonl", "queries.jsonl", "qrels/test.tsv"


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
    """A question about what was said. `relevant`: the grade of each row that answers it, by the row's ID.

    `answer`: a reference, "" if unknown.
    """

    id: str
    text: str
    user_id: str
    category: str
    relevant: Mapping[str, int]
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Folder:
    """The contents of a folder. `name` is unique among folders read together."""

    name: str
    corpus: Sequence[CorpusRow]
    queries: Sequence[Query]


def read_folders(paths: Sequence[Path]) -> list[Folder]:
    """Read and check folders; one given twice counts once, and folders of the same name go by their whole paths.

    Raises `InvalidFolder`.
    """
    unique = list(dict.fromkeys(path.resolve() for path in paths))
    names = [path.name for path in unique]
    folders = []
    for path in unique:
        corpus = read_corpus(path)
        name = path.name if names.count(path.name) == 1 else str(path)
        folders.append(Folder(name=name, corpus=corpus, queries=read_queries(path, corpus=corpus)))
    return folders


def read_corpus(folder: Path) -> list[CorpusRow]:
    """Return the rows of ``corpus.jsonl``, in order. Raises `InvalidFolder` for the first thing that is wrong."""
    rows = [
        CorpusRow(
            id=row_id,
            text=_read_text(fields, "text", where),
            user_id=_read_text(metadata, "user_id", where),
            session_id=_read_text(metadata, "session_id", where),
            role=_read_text(metadata, "role", where),
            speaker=_read_text(metadata, "speaker", where),
            timestamp=_read_time(metadata, "timestamp", where),
            where=where,
        )
        for row_id, fields, metadata, where in _read_objects(folder / CORPUS)
    ]
    if not rows:
        raise InvalidFolder(f"{folder / CORPUS}: holds no rows")
    return rows


def read_queries(folder: Path, *, corpus: Collection[CorpusRow]) -> list[Query]:
    """Return the queries that a row of `corpus` answers, in order; those without any cannot be judged.

    Raises `InvalidFolder` for the first thing that is wrong, such as a judgement about a row of another user: a query
    searches only its user's memories.
    """
    owners = {row.id: row.user_id for row in corpus}
    asked = list(_read_objects(folder / QUERIES))
    judged: dict[str, dict[str, int]] = {query_id: {} for query_id, *_rest in asked}
    for where, query_id, row_id, grade in _read_judgements(folder / JUDGEMENTS):
        if query_id not in judged:
            raise InvalidFolder(f"{where}: there is no query {query_id!r}")
        if row_id not in owners:
            raise InvalidFolder(f"{where}: there is no row {row_id!r} in {CORPUS}")
        if grade > 0:
            judged[query_id][row_id] = grade
    queries = []
    for query_id, fields, metadata, where in asked:
        text, user_id = _read_text(fields, "text", where), _read_text(metadata, "user_id", where)
        category, relevant = _read_text(metadata, "category", where), judged[query_id]
        answer = _read_text(metadata, "answer", where) if "answer" in metadata else ""
        for row_id in relevant:
            if owners[row_id] != user_id:
                raise InvalidFolder(f"{where}: {row_id!r} is to answer it, and belongs to {owners[row_id]!r}")
        if relevant:
            queries.append(Query(query_id, text, user_id, category, relevant, answer))
    if not queries:
        raise InvalidFolder(f"{folder}: no query has a relevant row")
    return queries


def _read_judgements(path: Path) -> Iterator[tuple[str, str, str, int]]:
    """Yield the place of each line, the query's ID, the row's ID and the grade; skip the line of headings."""
    for where, line in list(_read_lines(path))[1:]:
        parts = line.decode(errors="replace").rstrip("\r").split("\t")
        if len(parts) != 3:
            raise InvalidFolder(f"{where}: must be a query ID, a row ID and a grade, separated by tabs")
        query_id, row_id, grade = parts
        if not (grade.isascii() and grade.isdecimal() and len(grade) < 10):
            raise InvalidFolder(f"{where}: the grade {grade!r} is not a whole number")
        yield where, query_id, row_id, int(grade)


def _read_objects(path: Path) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any], str]]:
    """Yield the ID, the fields, the metadata and the place of the object on each line."""
    places: dict[str, str] = {}
    for where, line in _read_lines(path):
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError) as error:  # text that is not UTF-8 is a ValueError too
            raise InvalidFolder(f"{where}: is not valid JSON: {error}") from error
        if not isinstance(fields, dict):
            raise InvalidFolder(f"{where}: is not a JSON object")
        if found := find_forbidden(fields):
            raise InvalidFolder(f"{where}: holds {found}, which cannot be stored")
        object_id, metadata = _read_text(fields, "_id", where), fields.get("metadata")
        if not isinstance(metadata, dict):
            raise InvalidFolder(f"{where}: metadata must be an object")
        if earlier := places.get(object_id):
            raise InvalidFolder(f"{where}: _id {object_id!r} was used before, at {earlier}")
        places[object_id] = where
        yield object_id, fields, metadata, where


def _read_lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the file and number of each line that is not blank, with the line."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise InvalidFolder(f"{path}: cannot be read: {error.strerror}") from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield f"{path}:{number}", line


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
