"""Opening what was uploaded: a JSON or JSONL file, one packed with gzip, or a zip archive of such. Nothing is unpacked
to disk, and no more is read than a person's past can have.
"""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

from apps.core.text.clean import guess_encoding
from apps.gateway.imports.types import UnreadableFile

MAX_MEMBERS = 100_000
"""Files in an archive: exports hold one for each picture."""

MAX_UNPACKED_BYTES = 2 * 1024**3
"""Of all that is read from one archive, counted while it is read: what the archive says of itself proves nothing."""

MAX_RATIO = 100
"""How many times as large as it is a file may become when it is unpacked. Conversations shrink to a tenth or so."""

UNPACKED_ANYWAY = 16 * 1024**2
"""Bytes that may be unpacked whatever the ratio: small files of one line repeated shrink more."""

READ_AT_ONCE = 256 * 1024
LOOKED_THROUGH = 64 * 1024**2
"""Of what is ASCII so far, to find out in which encoding a file is."""

_GZIP, _ZIP = b"\x1f\x8b", b"PK"
_BROKEN = (zipfile.BadZipFile, zlib.error, gzip.BadGzipFile, EOFError, NotImplementedError, RuntimeError, OSError)


@dataclass(frozen=True, slots=True)
class Member:
    """A text file in what was uploaded. `name`: the last part of its path, in lower case; "" for the file itself."""

    name: str
    info: zipfile.ZipInfo | None = None


class Upload:
    """An uploaded file, opened. `members`: the JSON files in it, in the order of their names."""

    def __init__(self, file: IO[bytes]) -> None:
        """Raise `UnreadableFile` for an archive that is broken or has too many members."""
        self._file, self._left = file, min(MAX_UNPACKED_BYTES, max(UNPACKED_ANYWAY, MAX_RATIO * file.seek(0, 2)))
        file.seek(0)
        self._magic = file.read(2)
        file.seek(0)
        self._archive = self._open_archive() if self._magic == _ZIP else None

    @property
    def is_archive(self) -> bool:
        return self._archive is not None

    @property
    def members(self) -> list[Member]:
        if self._archive is None:
            return [Member("")]
        found = [Member(_base_name(info.filename), info) for info in self._archive.infolist() if _is_text(info)]
        return sorted(found, key=lambda member: (member.name, member.info.filename if member.info else ""))

    @contextmanager
    def open_text(self, member: Member) -> Iterator[IO[str]]:
        """Open a member as text. Raises `UnreadableFile` for what is broken, encrypted, too large or no text."""
        try:
            with self._open_bytes(member) as source:
                encoding = _find_encoding(source)
            with self._open_bytes(member) as source:
                reader = io.TextIOWrapper(io.BufferedReader(_Counted(source, self)), encoding=encoding)
                try:
                    yield reader
                finally:
                    reader.detach()
        except UnicodeDecodeError as error:
            raise UnreadableFile("The file is no text in UTF-8, UTF-16 or GB 18030.") from error
        except _BROKEN as error:
            raise UnreadableFile("The file is damaged or protected by a password.") from error

    def count(self, read: int) -> None:
        """Count what is read of packed files."""
        self._left -= read
        if self._left < 0:
            raise UnreadableFile("The file holds too much: unpacked it is over 2 GiB, or 100 times as large.")

    def _open_archive(self) -> zipfile.ZipFile:
        try:
            archive = zipfile.ZipFile(self._file)
        except _BROKEN as error:
            raise UnreadableFile("The archive is damaged.") from error
        if len(archive.infolist()) > MAX_MEMBERS:
            raise UnreadableFile("The archive holds too many files.")
        return archive

    def _open_bytes(self, member: Member) -> IO[bytes]:
        if self._archive is not None and member.info is not None:
            opened: Any = self._archive.open(member.info)
            return gzip.open(opened) if member.name.endswith(".gz") else opened  # type: ignore[return-value]
        self._file.seek(0)
        if self._magic == _GZIP:
            return gzip.open(self._file)  # type: ignore[return-value]
        return _Kept(self._file)  # type: ignore[return-value]


class _Kept(io.RawIOBase):
    """A file that stays open when its reader is closed."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class _Counted(io.RawIOBase):
    """A stream whose bytes are counted while they are read."""

    def __init__(self, source: IO[bytes], upload: Upload) -> None:
        self._source, self._upload = source, upload

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._source.read(len(buffer))
        self._upload.count(len(data))
        buffer[: len(data)] = data
        return len(data)


def _find_encoding(source: IO[bytes]) -> str:
    """The encoding of a text, by the first of it that is not ASCII."""
    begun, read = source.read(READ_AT_ONCE) or b"", 0
    portion = begun
    while portion and portion.isascii() and read < LOOKED_THROUGH:
        read += len(portion)
        portion = source.read(READ_AT_ONCE) or b""
    return guess_encoding(portion if read else begun) if portion else "utf-8-sig"


def _base_name(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1].lower()


def _is_text(info: zipfile.ZipInfo) -> bool:
    """JSON, and not what macOS puts beside each file."""
    name = _base_name(info.filename)
    hidden = name.startswith(".") or "__MACOSX" in info.filename
    return not info.is_dir() and not hidden and name.endswith((".json", ".jsonl", ".json.gz", ".jsonl.gz", ".af"))
