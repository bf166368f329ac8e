"""Open an uploaded file and read its JSON element by element, in memory bounded by the largest element.

A file is JSON or JSON lines, either one packed with gzip, or a zip archive of such. Nothing is unpacked to disk.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from typing import IO, Any, Protocol

import ijson

from apps.core.text.clean import guess_encoding

MAX_MEMBERS = 100_000  # exports hold one file for each picture
MAX_UNPACKED_BYTES = 2 * 1024**3  # counted while it is read: what an archive says about its own size proves nothing
MAX_RATIO = 100  # how many times its size a file may become when unpacked; conversations shrink to about a tenth
UNPACKED_ANYWAY = 16 * 1024**2  # whatever the ratio: small files of one repeated line shrink more
READ_AT_ONCE = 256 * 1024
LOOKED_THROUGH = 64 * 1024**2  # how far a file that is ASCII so far is searched for its encoding
MAX_ELEMENT_CHARACTERS = 64 * 1024**2  # a conversation with pasted files reaches a few million
MAX_CELL_CHARACTERS = 8 * 1024**2
MAX_DEPTH = 500
MAX_BLANKS = 1_000_000

# A top-level object under this name is read one name deeper: our own export has its tables there.
NESTED = "data"

# What a record of a page of Google's activity begins with; its HTML is an object of this one name.
CELL = '<div class="outer-cell'

_GZIP, _ZIP = b"\x1f\x8b", b"PK"
_BROKEN = (zipfile.BadZipFile, zlib.error, gzip.BadGzipFile, EOFError, NotImplementedError, RuntimeError, OSError)


class UnreadableFile(Exception):
    """The file cannot be read at all, or no further; the text is a sentence for the person."""


class UnknownFormat(UnreadableFile):
    """The file is not in a format that can be imported."""


@dataclass(frozen=True, slots=True)
class Member:
    """A text file in an upload. `name`: the last part of its path, in lower case; "" for the upload itself."""

    name: str
    info: zipfile.ZipInfo | None = None


class Upload:
    """Open an uploaded file, packed or not."""

    def __init__(self, file: IO[bytes]) -> None:
        """Raise `UnreadableFile` for an archive that is broken or has too many members."""
        self._file, self._left = file, min(MAX_UNPACKED_BYTES, max(UNPACKED_ANYWAY, MAX_RATIO * file.seek(0, 2)))
        file.seek(0)
        self._magic = file.read(2)
        file.seek(0)
        self._archive = self._open_archive() if self._magic == _ZIP else None

    @property
    def members(self) -> list[Member]:
        """Return the JSON files in it, in the order of their names."""
        if self._archive is None:
            return [Member("")]
        found = [Member(_base_name(info.filename), info) for info in self._archive.infolist() if _is_text(info)]
        return sorted(found, key=lambda member: (member.name, member.info.filename if member.info else ""))

    @property
    def pages(self) -> list[Member]:
        """Return the HTML pages about Gemini in an archive of Google's."""
        infos = self._archive.infolist() if self._archive else []
        return [Member(_base_name(info.filename), info) for info in infos if _is_page(info)]

    @contextmanager
    def open_text(self, member: Member) -> Iterator[IO[str]]:
        """Open a member as text. Raises `UnreadableFile` if it is broken, encrypted, too large or not text."""
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
            raise UnreadableFile("The file is not text in UTF-8, UTF-16 or GB 18030.") from error
        except _BROKEN as error:
            raise UnreadableFile("The file is damaged or protected by a password.") from error

    def count(self, read: int) -> None:
        """Count bytes that were unpacked; raises `UnreadableFile` beyond the limit."""
        self._left -= read
        if self._left < 0:
            raise UnreadableFile("Unpacked, the file is over 2 GiB, or over 100 times its size.")

    def _open_archive(self) -> zipfile.ZipFile:
        try:
            archive = zipfile.ZipFile(self._file)
        except _BROKEN as error:
            raise UnreadableFile("The archive is damaged.") from error
        if len(archive.infolist()) > MAX_MEMBERS:
            raise UnreadableFile("The archive has too many files.")
        return archive

    @contextmanager
    def _open_bytes(self, member: Member) -> Iterator[Any]:
        self._file.seek(0)
        with ExitStack() as stack:
            source: Any = self._file
            if self._archive is not None and member.info is not None:
                source = stack.enter_context(self._archive.open(member.info))
            is_packed = member.name.endswith(".gz") or self._magic == _GZIP
            yield stack.enter_context(gzip.open(source)) if is_packed else source


class _Counted(io.RawIOBase):
    """A stream whose bytes are counted while they are read."""

    def __init__(self, source: Any, upload: Upload) -> None:
        self._source, self._upload = source, upload

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._source.read(len(buffer))
        self._upload.count(len(data))
        buffer[: len(data)] = data
        return len(data)


def _find_encoding(source: Any) -> str:
    """Guess the encoding of a text by its first portion that is not ASCII."""
    begun, read = source.read(READ_AT_ONCE) or b"", 0
    portion = begun
    while portion and portion.isascii() and read < LOOKED_THROUGH:
        read += len(portion)
        portion = source.read(READ_AT_ONCE) or b""
    return guess_encoding(portion if read else begun) if portion else "utf-8-sig"


def _base_name(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1].lower()


def _is_text(info: zipfile.ZipInfo) -> bool:
    """Whether a member is JSON, and not what macOS puts beside each file."""
    name = _base_name(info.filename)
    hidden = name.startswith(".") or "__MACOSX" in info.filename
    return not info.is_dir() and not hidden and name.endswith((".json", ".jsonl", ".json.gz", ".jsonl.gz", ".af"))


def _is_page(info: zipfile.ZipInfo) -> bool:
    return "gemini" in info.filename.lower() and info.filename.lower().endswith(".html")


# JSON


class Readable(Protocol):
    """Text that is read from beginning to end."""

    def read(self, size: int, /) -> str: ...

    def readline(self, size: int, /) -> str: ...


@dataclass(frozen=True, slots=True)
class Node:
    """A value of a document, and the names that lead to it. `is_element`: it is an element of the array there."""

    path: tuple[str, ...]
    value: Any
    is_element: bool


def read_nodes(text: Readable) -> Iterator[Node]:
    """Yield the elements of the arrays in a document and its other values, in the order of the file.

    The arrays are at the top (``[…]``), under a name (``{"results": […]}``), or under a name in `NESTED`. The lines of
    a file of JSON lines are elements, too; a line that is not JSON is a `ValueError`. Raises `UnreadableFile` where the
    file is not JSON, or an element is too large or nested too deeply; what came before is good. The records of a page
    of Google's activity are elements, too.
    """
    head = text.read(READ_AT_ONCE)
    rest = Rejoined(head, text)
    if head.lstrip().startswith("<"):
        return (Node((), {CELL: cell}, True) for cell in _read_cells(rest))
    first, *others = head.lstrip(" \t\r\n").split("\n")
    if first.startswith("{") and any(line.strip() for line in others) and not isinstance(_parse(first), ValueError):
        return (Node((), value, True) for value in _read_lines(rest))
    return _read_document(rest)


def read_objects(nodes: Iterable[Node]) -> Iterator[Any]:
    """Yield the objects of a document: the elements of its array, or the one object that it is."""
    single: dict[str, Any] = {}
    for node in nodes:
        if not node.path:
            yield node.value
        else:
            collect(single, node)
    if single:
        yield single


def collect(found: dict[str, Any], node: Node) -> None:
    """Add a node to the object that it is part of."""
    if node.is_element:
        found.setdefault(node.path[0], []).append(node.value)
    else:
        found[node.path[0]] = node.value


def _read_cells(text: Readable) -> Iterator[str]:
    before, held = True, ""
    while portion := text.read(READ_AT_ONCE):
        *cells, held = (held + portion).split(CELL)
        if len(held) > MAX_CELL_CHARACTERS:
            raise UnreadableFile("The file has an element that is too large.")
        yield from cells[before:]
        before = before and not cells
    if not before:
        yield held


def _read_lines(text: Readable) -> Iterator[Any]:
    number = blanks = 0
    while line := text.readline(MAX_ELEMENT_CHARACTERS):
        number += 1
        if not line.endswith("\n") and len(line) == MAX_ELEMENT_CHARACTERS:
            raise UnreadableFile(f"Line {number} is too long.")
        if line.strip():
            yield _parse(line)
            continue
        # A packed file of a few megabytes can hold a billion of them.
        blanks += len(line)
        if blanks > MAX_BLANKS:
            raise UnreadableFile("The file has too many blank lines.")


def _parse(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return ValueError("This line is not JSON.")


def _read_document(text: Readable) -> Iterator[Node]:
    source = _Source(text)
    events = source.read_events()
    for first in events:
        for node in _read_value(events, first, ()):
            source.start_element()
            yield node


_Event = tuple[str, Any]


def _read_value(events: Iterator[_Event], first: _Event, path: tuple[str, ...]) -> Iterator[Node]:
    if first[0] == "start_array":
        for event in events:
            if event[0] == "end_array":
                return
            yield Node(path, _build(events, event), True)
    elif first[0] == "start_map" and path in ((), (NESTED,)):
        for event in events:
            if event[0] == "end_map":
                return
            yield from _read_value(events, next(events), (*path, event[1]))
    else:
        yield Node(path, _build(events, first), False)


def _build(events: Iterator[_Event], first: _Event) -> Any:
    """Return the value that begins with an event."""
    builder = ijson.ObjectBuilder()
    depth = 0
    for kind, value in chain([first], events):
        builder.event(kind, float(value) if isinstance(value, Decimal) else value)
        if kind in ("start_map", "start_array"):
            depth += 1
            if depth > MAX_DEPTH:
                raise UnreadableFile("The file is nested too deeply.")
        elif kind in ("end_map", "end_array"):
            depth -= 1
        if not depth:
            break
    return builder.value


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.",
    re.DOTALL,
)


class _Source:
    """Feed the text to the parser, and watch how much of it one element takes."""

    def __init__(self, text: Readable) -> None:
        self._text, self._held, self._characters = text, "", 0

    def start_element(self) -> None:
        """Count from here on for the next element."""
        self._characters = 0

    def read_events(self) -> Iterator[_Event]:
        """Yield the parser's events; those before a mistake come before the `UnreadableFile`."""
        events = ijson.sendable_list()
        parser = ijson.basic_parse_coro(events)
        try:
            while portion := self._read():
                parser.send(portion.encode())
                yield from events
                del events[:]
            parser.close()
        except ijson.JSONError as error:
            yield from events
            raise UnreadableFile(_explain(str(error))) from error
        except (ValueError, SystemError) as error:
            # A number of over 4,300 digits, which Python does not read. The parser in C leaves its event half made:
            # looking into it would end the process.
            del events[-1:]
            yield from events
            raise UnreadableFile(_explain(str(error))) from error
        yield from events

    def _read(self) -> str:
        """Return the next portion, without halves of surrogate pairs: they cannot be stored, and stop the parser."""
        while more := self._text.read(READ_AT_ONCE):
            self._characters += len(more)
            if self._characters > MAX_ELEMENT_CHARACTERS:
                raise UnreadableFile("The file has an element that is too large.")
            self._held += more
            # Before a blank or a comma no escape is cut in two.
            if (end := max(self._held.rfind(" "), self._held.rfind(","))) > 0:
                portion, self._held = self._held[:end], self._held[end:]
                break
        else:
            portion, self._held = self._held, ""
        if _SURROGATE.search(portion):
            return _ESCAPE.sub(lambda found: "" if found["lone"] else found[0], portion)
        return portion


def _explain(error: str) -> str:
    # Of ijson's parsers in C and in Python.
    if "premature EOF" in error or "Incomplete" in error:
        return "The file breaks off in the middle."
    if "trailing garbage" in error or "Additional data" in error:
        return "There is something after the end of the JSON document."
    return "The file is not valid JSON."


class Rejoined:
    """A text of which the beginning was read already."""

    def __init__(self, head: str, rest: Readable) -> None:
        self._head, self._rest = head, rest

    def read(self, size: int, /) -> str:
        taken, self._head = self._head[:size], self._head[size:]
        return taken + self._rest.read(size - len(taken)) if len(taken) < size else taken

    def readline(self, size: int, /) -> str:
        end = self._head.find("\n") + 1
        if not end:
            line, self._head = self._head + self._rest.readline(size), ""
            return line
        line, self._head = self._head[:end], self._head[end:]
        return line
