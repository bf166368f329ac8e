"""Taking memories along (M4): every status, as a JSON array of the objects that the API speaks of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from apps.accounts.models import User
from apps.memory.kinds import MemoryKind

_AT_ONCE = 1_000


def export_memories(user: User, kind: MemoryKind) -> Iterator[bytes]:
    """Yield a person's memories of a kind, newest first, as UTF-8 JSON, in portions and as they are at one moment."""
    rows = kind.model.objects.filter(user=user).order_by(f"-{kind.made_at}", "-id")
    yield from export_rows(rows, kind)


def export_rows(rows: QuerySet[Any], kind: MemoryKind) -> Iterator[bytes]:
    """Yield these memories, which the caller has seen to that they may be read."""
    with transaction.atomic():
        columns = {name: kind.column(name).attname for name in kind.file_fields}
        values = rows.values(*columns.values()).iterator(chunk_size=_AT_ONCE)
        yield from _dump({name: _encode(row[column]) for name, column in columns.items()} for row in values)


def _encode(value: Any) -> Any:
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case UUID():
            return str(value)
    return value


def _dump(objects: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    lines: list[str] = []
    opened = False
    for item in objects:
        lines.append(json.dumps(item, ensure_ascii=False))
        if len(lines) == _AT_ONCE:
            yield (",\n" if opened else "[\n").encode() + ",\n".join(lines).encode()
            opened, lines = True, []
    if lines:
        yield (",\n" if opened else "[\n").encode() + ",\n".join(lines).encode()
        opened = True
    yield b"\n]\n" if opened else b"[]\n"
