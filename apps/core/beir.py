"""Reading folders of evaluation data in BEIR's layout (Thakur et al., 2021) as this project uses it.

``corpus.jsonl`` has one object a line: ``_id``, ``text`` and ``metadata`` with ``user_id``, ``session_id``, ``role``,
``speaker`` and ``timestamp`` (ISO 8601; without an offset it is UTC). Rows of a session are in order of time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from apps.core.text.clean import find_forbidden

CORPUS = "corpus.jsonl"


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
    metadata = fields.get("metadata")
    if not isinstance(metadata, dict):
        raise InvalidFolder(f"{where}: metadata has to be an object")
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


def _read_text(fields: Mapping[str, Any], name: str, where: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InvalidFolder(f"{where}: {name} has to be a text that is not blank")
    return value


def _read_time(fields: Mapping[str, Any], name: str, where: str) -> datetime:
    text = _read_text(fields, name, where)
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidFolder(f"{where}: {name} {text!r} is not a time in ISO 8601") from error
