"""The file of a backup: a tar whose last part, the manifest, has the checksums of all others.

It is written to another name beside its own and renamed when it is complete and on the disk, so a file under its own
name is always whole. ``tar -tvf`` lists it, and ``tar -xOf FILE database.dump`` gives the dump to other programs.
"""

from __future__ import annotations

import hashlib
import os
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from apps.backup.types import BackupError, Damaged, Manifest

DUMP = "database.dump"
KEY = "secret_key"
MANIFEST = "manifest.json"
MANIFEST_DIGEST = "manifest.sha256"

_PORTION = 1024 * 1024
_SUFFIX = ".partial"

Advance = Callable[[int], None]


class ArchiveWriter:
    """Writes the parts of a backup one after the other."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._digests: dict[str, str] = {}

    def add(self, name: str, portions: Iterable[bytes]) -> int:
        """Write a part whose size is not known before; returns its size in bytes."""
        start, size, digest = self._file.tell(), 0, hashlib.sha256()
        self._file.write(bytes(tarfile.BLOCKSIZE))
        for portion in portions:
            self._file.write(portion)
            digest.update(portion)
            size += len(portion)
        self._file.write(bytes(-size % tarfile.BLOCKSIZE))
        end = self._file.tell()
        self._file.seek(start)
        self._file.write(_make_header(name, size))
        self._file.seek(end)
        self._digests[name] = digest.hexdigest()
        return size

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest and the end of the file."""
        text = manifest.to_json(self._digests)
        self.add(MANIFEST, [text])
        self.add(MANIFEST_DIGEST, [hashlib.sha256(text).hexdigest().encode()])
        self._file.write(bytes(2 * tarfile.BLOCKSIZE))


def _make_header(name: str, size: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, 0o600, int(time.time())
    header = info.tobuf(tarfile.GNU_FORMAT)
    assert len(header) == tarfile.BLOCKSIZE, "names of parts are short"
    return header


@contextmanager
def write_file(path: Path, *, force: bool = False) -> Iterator[IO[bytes]]:
    """A new file (mode 600) that becomes `path` when the block ends well, and is gone when it does not.

    Raises `BackupError` where `path` is there already (unless `force`) or cannot be written, the disk being full say.
    What a killed run left of the same path is removed.
    """
    check_free(path, force=force)
    _remove_leftovers(path)
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=_SUFFIX)
    except OSError as error:
        raise BackupError(f"{path}: {error.strerror}") from error
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        check_free(path, force=force)
        os.replace(draft, path)
        _sync_folder(path.parent)
    except OSError as error:
        raise BackupError(f"{path}: {error.strerror}") from error
    finally:
        draft.unlink(missing_ok=True)


def check_free(path: Path, *, force: bool) -> None:
    """Raise `BackupError` unless a file may be written under this name."""
    if os.path.isdir(path):  # unlike the method, it does not mind a name that no file can have
        raise BackupError(f"{path} is a folder.")
    if os.path.lexists(path) and not force:
        raise BackupError(f"{path} is there already. Choose another name, or use --force to replace it.")
    if not path.parent.is_dir():
        raise BackupError(f"There is no folder {path.parent}.")


def _remove_leftovers(path: Path) -> None:
    """Those of an hour ago: another run may be writing one just now."""
    for draft in path.parent.glob(f".{path.name}.*{_SUFFIX}"):
        try:
            if time.time() - draft.stat().st_mtime > 3600:
                draft.unlink()
        except OSError:
            continue


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Archive:
    """A backup that is there to be read. Raises `Damaged`, or `BackupError` where it cannot be opened."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._parts = _find_parts(path)
        missing = [name for name in (DUMP, MANIFEST, MANIFEST_DIGEST) if name not in self._parts]
        if missing:
            raise Damaged(f"{path} is not a whole backup: it has no {missing[0]}.")
        text = self.read(MANIFEST)
        if hashlib.sha256(text).hexdigest().encode() != self.read(MANIFEST_DIGEST):
            raise Damaged(f"{path} is damaged: {MANIFEST} has changed. Nothing was restored.")
        self.manifest, self._digests = Manifest.from_json(text)
        self.key = self.read(KEY).decode() if self.manifest.has_key and KEY in self._parts else None

    @property
    def dump_size(self) -> int:
        """The size of the dump in bytes."""
        return self._parts[DUMP][1]

    @property
    def size(self) -> int:
        """How many bytes `verify` reads."""
        return sum(self._parts[name][1] for name in self._digests if name in self._parts)

    def verify(self, advance: Advance = lambda _count: None) -> None:
        """Compare every part with its checksum; `Damaged` names the first that has changed."""
        for name, expected in self._digests.items():
            digest = hashlib.sha256()
            for portion in self.portions(name):
                digest.update(portion)
                advance(len(portion))
            if digest.hexdigest() != expected:
                raise Damaged(f"{self.path} is damaged: {name} has changed. Nothing was restored.")

    def read(self, name: str) -> bytes:
        """Return a small part."""
        return b"".join(self.portions(name))

    def portions(self, name: str) -> Iterator[bytes]:
        """Read a part, a mebibyte at a time."""
        if name not in self._parts:
            raise Damaged(f"{self.path} is not a whole backup: it has no {name}.")
        offset, left = self._parts[name]
        with self.path.open("rb") as file:
            file.seek(offset)
            while left:
                portion = file.read(min(left, _PORTION))
                if not portion:
                    raise Damaged(f"{self.path} is damaged: it ends too early.")
                left -= len(portion)
                yield portion


def _find_parts(path: Path) -> dict[str, tuple[int, int]]:
    """Return where each part lies, and its size."""
    try:
        with tarfile.open(path, "r:") as tar:
            return {member.name: (member.offset_data, member.size) for member in tar if member.isreg()}
    except tarfile.TarError as error:
        raise Damaged(f"{path} is no backup of Jiyi, or it is damaged.") from error
    except OSError as error:
        raise BackupError(f"{path}: {error.strerror or error}") from error
