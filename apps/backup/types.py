"""What a backup says about itself: pure values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

FORMAT = 1
PRODUCT = "jiyi"


class BackupError(Exception):
    """A backup or a restore is not possible; the message says why, and what to do. Nothing was changed."""


class Damaged(BackupError):
    """The file is no backup, or not the whole one any more."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """`migrations`: those applied, as ``app.name``. `rows`: how many each table held. `key`: the fingerprint of the
    installation's key, which is in the file where `has_key`. `server` and `programs`: PostgreSQL's major versions.
    """

    version: str
    created_at: datetime
    server: int
    programs: int
    migrations: frozenset[str]
    rows: Mapping[str, int]
    key: str
    has_key: bool

    def to_json(self, checksums: Mapping[str, str]) -> bytes:
        """Return it with the checksums (SHA-256) of the other parts of the file."""
        values = {
            "product": PRODUCT,
            "format": FORMAT,
            "version": self.version,
            "created_at": self.created_at.isoformat(),
            "postgresql": {"server": self.server, "programs": self.programs},
            "migrations": sorted(self.migrations),
            "rows": dict(sorted(self.rows.items())),
            "key": {"fingerprint": self.key, "included": self.has_key},
            "sha256": dict(checksums),
        }
        return json.dumps(values, indent=1, ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, text: bytes) -> tuple[Manifest, dict[str, str]]:
        """Read what `to_json` wrote; `Damaged` for anything else, `BackupError` for a format of the future."""
        try:
            values: dict[str, Any] = json.loads(text)
            if values["product"] != PRODUCT:
                raise Damaged("This is no backup of Jiyi.")
            if values["format"] > FORMAT:
                raise BackupError(
                    f"This backup was made by a newer version of Jiyi ({values['version']}). "
                    "Install that version first."
                )
            return _read(values)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise Damaged("The description in this backup cannot be read.") from error


def _read(values: Mapping[str, Any]) -> tuple[Manifest, dict[str, str]]:
    manifest = Manifest(
        version=str(values["version"]),
        created_at=datetime.fromisoformat(values["created_at"]),
        server=int(values["postgresql"]["server"]),
        programs=int(values["postgresql"]["programs"]),
        migrations=frozenset(map(str, values["migrations"])),
        rows={str(table): int(count) for table, count in values["rows"].items()},
        key=str(values["key"]["fingerprint"]),
        has_key=bool(values["key"]["included"]),
    )
    return manifest, {str(name): str(digest) for name, digest in values["sha256"].items()}


def find_unknown(applied: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return the migrations that a backup has and this code does not know: it was made by a newer version."""
    return sorted(set(applied) - set(known))


def compare_rows(expected: Mapping[str, int], found: Mapping[str, int]) -> list[str]:
    """Return, in words, each table that does not hold as many rows as it should."""
    return [
        f"{table}: {found.get(table, 0):,} rows instead of {rows:,}"
        for table, rows in sorted(expected.items())
        if found.get(table, 0) != rows
    ]
