"""Everything remembered about a person as one JSON document (R2), row by row, however much it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import IO, Any
from uuid import UUID

from django.db import connection, transaction
from django.http import FileResponse
from django.utils import timezone
from django.utils.crypto import salted_hmac

from apps.accounts.models import User
from apps.accounts.services.personal_data import PersonalTable, list_tables
from apps.core.files import answer_written

ABOUT = (
    "Everything this installation remembers about the person, table by table, with IDs as they are in the database. "
    "Left out are vectors and search terms, which are made from the texts that are here, and credentials."
)
ROWS_AT_ONCE = 1_000


def write_export(
    *, user: User, file: IO[bytes], now: datetime, progress: Callable[[str, int], None] | None = None
) -> dict[str, int]:
    """Write everything of a person, of every kind and status, as UTF-8 JSON; returns the number of rows by table.

    ``{"about", "exported_at", "user": {...}, "digests", "data": {"<table>": [{...}, ...]}}``, as it all was at one
    moment, read in portions. `progress` is called with the table and how many of its rows were written, portion by
    portion.
    """
    written: dict[str, int] = {}
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        head = {
            "about": ABOUT,
            "exported_at": now.isoformat(),
            "user": _describe(user),
            "digests": name_digests(user),
        }
        file.write(f'{_dump(head)[:-1]}, "data": {{'.encode())
        for number, table in enumerate(reversed(list_tables())):
            file.write(f'{"," if number else ""}\n"{table.name}": ['.encode())
            written[table.name] = 0
            for portion in _read(table, user):
                lines = ",\n".join(map(_dump, portion))
                file.write(f"{',' if written[table.name] else ''}\n{lines}".encode())
                written[table.name] += len(portion)
                if progress:
                    progress(table.name, written[table.name])
            file.write(b"]")
        file.write(b"}}\n")
    return written


def name_digests(user: User) -> str:
    """Return a name for the key that a person's digests are made with: another installation or account has another."""
    return salted_hmac("jiyi.export.digests", str(user.pk), algorithm="sha256").hexdigest()[:32]


def answer_export(user: User) -> FileResponse:
    """Answer with everything remembered about a person, as a file of JSON (R2)."""
    return answer_written(lambda file: write_export(user=user, file=file, now=timezone.now()), name="everything")


def _read(table: PersonalTable, user: User) -> Iterator[list[dict[str, Any]]]:
    portion = []
    for row in table.rows(user).values(*table.exported).iterator(chunk_size=ROWS_AT_ONCE):
        portion.append(row)
        if len(portion) == ROWS_AT_ONCE:
            yield portion
            portion = []
    if portion:
        yield portion


def _describe(user: User) -> dict[str, Any]:
    described = {"id": user.pk, "username": user.username, "email": user.email, "date_joined": user.date_joined}
    return described | ({"external_id": user.external_id} if user.service_id else {})


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_encode)


def _encode(value: Any) -> str:
    match value:
        case datetime():
            return value.isoformat()
        case UUID():
            return str(value)
        case bytes() | memoryview():
            return bytes(value).hex()
    raise TypeError(f"A {type(value).__name__} cannot be exported.")
