"""What was erased or deleted, as it is known from the database that a restore replaces, and from files."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from apps.accounts.services.ledger import SESSION, BadRecord, Erased, format_record, list_keys, make_digest, read_file
from apps.backup.archive import write_file
from apps.backup.database import Connection, has_table
from apps.backup.types import BackupError

LIVING = {"long_term": "long_term_memory", "atomic": "atomic_memory", "context": "shared_context"}
"""The tables of the objects whose deletion leaves a record with their ID; what was written anew is not deleted."""

ALWAYS = ("profile", "summary")
"""Those of which the row stays when the text is deleted."""

_LONGEST_TRANSACTION = timedelta(hours=1)

_DELETED = """
SELECT DISTINCT ON (kind, object_id) kind, object_id::text, created_at FROM memory_change
WHERE action = 'delete' AND created_at >= %(since)s AND kind = %(kind)s
ORDER BY kind, object_id, created_at DESC
"""


def read_erasures(connection: Connection, *, since: datetime | None = None) -> list[Erased]:
    """Return what a database records as erased, and what as deleted `since` then (None: ever).

    Of what is deleted, the last record of each object; none of what is there again.
    """
    records: list[Erased] = []
    if has_table(connection, "erasure_record"):
        rows = connection.execute("SELECT id::text, kind, subject, at, key FROM erasure_record ORDER BY at, id")
        records += [Erased(id=row[0], kind=row[1], subject=row[2], at=row[3], key=row[4]) for row in rows]
    if has_table(connection, "memory_change"):
        earliest = since - _LONGEST_TRANSACTION if since else datetime(1970, 1, 1, tzinfo=UTC)
        for kind in (*LIVING, *ALWAYS):
            records += [
                Erased(id=f"{kind}:{object_id}", kind=kind, subject=object_id, at=at)
                for kind, object_id, at in connection.execute(_DELETED, {"since": earliest, "kind": kind})
            ]
    return leave_living(connection, records)


def leave_living(connection: Connection, records: Iterable[Erased]) -> list[Erased]:
    """Return the records but those of objects and conversations that the database has again, as of an import that was
    withdrawn and then brought anew: that is not to be erased.
    """
    records = list(records)
    living: set[tuple[str, str, str]] = set()
    for kind, table in LIVING.items():
        asked = [record.subject for record in records if record.kind == kind]
        if asked and has_table(connection, table):
            found = connection.execute(
                f"SELECT id::text FROM {table} WHERE id = ANY(%s::uuid[])",  # noqa: S608 - one of ours
                [asked],
            )
            living |= {(kind, "", row[0]) for row in found}
    keys = {record.key for record in records if record.kind == SESSION}
    if keys and has_table(connection, "chat_session"):
        for (session_id,) in connection.execute("SELECT id::text FROM chat_session"):
            for fingerprint, key in list_keys().items():
                if fingerprint in keys:
                    living.add((SESSION, fingerprint, make_digest(SESSION, session_id, key=key)))
    return [record for record in records if (record.kind, record.key, record.subject) not in living]


def read_files(paths: Iterable[Path], *, optional: Iterable[Path] = ()) -> list[Erased]:
    """Return the records of files of erasures; `BackupError` for one that is no such file, or not there."""
    records: list[Erased] = []
    for path in paths:
        if not path.is_file():
            raise BackupError(f"{path}: No such file.")
        records += _read(path)
    for path in optional:
        records += _read(path)
    return records


def write_erasures(path: Path, records: Iterable[Erased], *, force: bool = False) -> int:
    """Write records to a file of their own (mode 600), whole or not at all; returns how many."""
    lines = [format_record(record) for record in records]
    with write_file(path, force=force) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())
    return len(lines)


def merge(*groups: Iterable[Erased]) -> list[Erased]:
    """Return the records of all groups, each once: of an object, its last deletion."""
    merged: dict[str, Erased] = {}
    for group in groups:
        for record in group:
            known = merged.get(record.id)
            if known is None or known.at < record.at:
                merged[record.id] = record
    return sorted(merged.values(), key=lambda record: (record.at, record.id))


def _read(path: Path) -> list[Erased]:
    try:
        return read_file(path)
    except BadRecord as error:
        raise BackupError(f"{path}: {error}. Nothing was changed.") from error
    except OSError as error:
        raise BackupError(f"{path}: {error.strerror}") from error
