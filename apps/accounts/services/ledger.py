"""What was erased, as digests: in the database, and appended to ``erasures.jsonl`` in the data folder.

A backup that is older than an erasure still holds what was erased. So each erasure leaves a record from which nobody
can be read (HMAC-SHA-256 under the installation's key), and which outlives them: after a restore, who or what has such
a record is erased again (`apps.backup`). The file outlives the database, and may be shipped elsewhere line by line.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.accounts.models import ErasureRecord, User
from apps.core.secret_key import fingerprint

logger = structlog.get_logger(__name__)

FILE = "erasures.jsonl"

PERSON = ErasureRecord.Kind.PERSON
ACCOUNT = ErasureRecord.Kind.ACCOUNT
SESSION = ErasureRecord.Kind.SESSION
SPACE = ErasureRecord.Kind.SPACE

_DIGESTED = frozenset(ErasureRecord.Kind.values)


class BadRecord(ValueError):
    """A line that is no record of an erasure."""


@dataclass(frozen=True, slots=True)
class Erased:
    """One erasure. Of a person, an account, a conversation and a space `subject` is a digest made with the key of that
    fingerprint (`key`); of anything else it is the ID of an object, which means nothing to anybody, and `key` is empty.
    """

    id: str
    kind: str
    subject: str
    at: datetime
    key: str = ""


def identify_person(user_id: int, joined: datetime) -> str:
    """Return what identifies an account for good: IDs alone are given again after a restore."""
    return f"{user_id}:{joined.astimezone(UTC).isoformat(timespec='microseconds')}"


def make_digest(kind: str, identity: str, *, key: str) -> str:
    """Return the digest of a person (`identify_person`) or of a conversation or a space (its ID)."""
    return hmac.new(key.encode(), f"jiyi.erased.{kind}:{identity}".encode(), hashlib.sha256).hexdigest()


def list_keys() -> dict[str, str]:
    """Return the installation's keys, the former ones too, by their fingerprints."""
    return {fingerprint(key): key for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)}


def record_person(user: User, *, kind: str = PERSON) -> None:
    """Record, in the caller's transaction, that a person is being erased, or that an account is being deleted."""
    _record(kind, [identify_person(user.pk, user.date_joined)])


def record_sessions(session_ids: Iterable[UUID]) -> None:
    """Record, in the caller's transaction, that these conversations are being deleted."""
    _record(SESSION, map(str, session_ids))


def record_space(space_id: UUID) -> None:
    """Record, in the caller's transaction, that a space is being deleted with all that is in it."""
    _record(SPACE, [str(space_id)])


def add_records(records: Iterable[Erased]) -> int:
    """Take over records of erasures from elsewhere, those of objects left out; returns how many were new."""
    rows = {UUID(record.id): record for record in records if record.kind in _DIGESTED}
    known = set(ErasureRecord.objects.filter(id__in=rows).values_list("id", flat=True))
    new = [
        ErasureRecord(id=row_id, kind=record.kind, subject=record.subject, key=record.key, at=record.at)
        for row_id, record in rows.items()
        if row_id not in known
    ]
    ErasureRecord.objects.bulk_create(new, batch_size=1_000)
    return len(new)


def format_record(record: Erased) -> str:
    """Return a record as a line of JSON, without the line's end."""
    values = {"id": record.id, "kind": record.kind, "subject": record.subject, "at": record.at.isoformat()}
    return json.dumps(values | ({"key": record.key} if record.key else {}))


def parse_records(lines: Iterable[str]) -> Iterator[Erased]:
    """Read lines of `format_record`; `BadRecord` names the first that is none. Blank lines are passed over.

    A last line without an end was being written when everything stopped, and is passed over, too.
    """
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield _read(json.loads(line))
        except (ValueError, TypeError, KeyError) as error:
            if not line.endswith("\n"):
                return
            raise BadRecord(f"line {number} is no record of an erasure") from error


def read_file(path: Path) -> list[Erased]:
    """Return the records of a file; none where it does not exist. Raises `BadRecord` and `OSError`."""
    try:
        with path.open(encoding="utf-8") as file:
            return list(parse_records(file))
    except FileNotFoundError:
        return []
    except UnicodeDecodeError as error:
        raise BadRecord("it is no text") from error


def _read(values: Mapping[str, str]) -> Erased:
    record = Erased(
        id=values["id"],
        kind=values["kind"],
        subject=values["subject"],
        at=datetime.fromisoformat(values["at"]),
        key=values.get("key", ""),
    )
    if record.kind in _DIGESTED:
        UUID(record.id)
        digest, key = bytes.fromhex(record.subject), bytes.fromhex(record.key)
        if len(digest) != hashlib.sha256().digest_size or len(key) != 8:
            raise ValueError
    else:
        UUID(record.subject)
    if record.at.tzinfo is None:
        raise ValueError
    return record


def _record(kind: str, identities: Iterable[str]) -> None:
    key, now = settings.SECRET_KEY, timezone.now()
    rows = [
        ErasureRecord(kind=kind, subject=make_digest(kind, identity, key=key), key=fingerprint(key), at=now)
        for identity in identities
    ]
    ErasureRecord.objects.bulk_create(rows, batch_size=1_000)
    lines = "".join(
        format_record(Erased(id=str(row.id), kind=row.kind, subject=row.subject, at=row.at, key=row.key)) + "\n"
        for row in rows
    )
    if lines:
        transaction.on_commit(lambda: _append(lines), robust=True)


def _append(lines: str) -> None:
    """One write to the end of the file: lines of several processes do not mix."""
    path = Path(settings.DATA_DIR) / FILE
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, lines.encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:  # the table has it; a full disk must not undo an erasure
        logger.warning("erasure_not_in_file", cause=type(error).__name__)
