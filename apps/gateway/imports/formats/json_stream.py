"""Reading a large JSON document one element at a time, in memory that is bounded by the largest element.

The standard library reads whole documents only, and an export of a few years has several hundred megabytes. The arrays
that exports consist of are at the top (``[…]``), under a name (``{"results": […]}``) or one level deeper
(``{"data": {"conversation": […]}}``): their elements are read one by one, everything else as a whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any, Protocol

from apps.gateway.imports.types import UnreadableFile

READ_AT_ONCE = 256 * 1024
MAX_ELEMENT_CHARACTERS = 64 * 1024 * 1024
"""Of one element: conversations with pasted files reach a few million."""

MAX_BLANKS = 1_000_000
"""Between two values, and in blank lines: exports indent, and no more."""

_REST_OF_NUMBER = re.compile(r"[-+.0-9Ee]*\Z")
_SPACE = " \t\n\r"
_NO_SPACE = re.compile(f"[^{_SPACE}]")
_DECODER = json.JSONDecoder()


class Readable(Protocol):
    """A text that is read from its beginning to its end."""

    def read(self, size: int, /) -> str: ...

    def readline(self, size: int, /) -> str: ...


@dataclass(frozen=True, slots=True)
class Node:
    """A value of a document, and the names that lead to it. `is_element`: it is an element of the array there."""

    path: tuple[str, ...]
    value: Any
    is_element: bool


def read_document(text: Readable, *, inside: frozenset[str] = frozenset({"data"})) -> Iterator[Node]:
    """Yield the elements of the arrays of a document and its other values, in the order of the file.

    `inside`: names of top-level objects whose values are read one by one too. Raises `UnreadableFile` where it is no
    JSON, or an element is larger than `MAX_ELEMENT_CHARACTERS`; what came before was good.
    """
    scanner = _Scanner(text)
    yield from _read(scanner, (), inside=inside)
    if scanner.peek():
        raise UnreadableFile("There is something after the end of the JSON document.")


def read_objects(nodes: Iterable[Node]) -> Iterator[Any]:
    """Yield the objects of a document: the elements of its array, or the one that it is."""
    single: dict[str, Any] = {}
    for node in nodes:
        if not node.path:
            yield node.value
        elif node.is_element:
            single.setdefault(node.path[0], []).append(node.value)
        else:
            single[node.path[0]] = node.value
    if single:
        yield single


def read_lines_or_document(text: IO[str]) -> Iterator[Node]:
    """Yield the lines of a file of JSON lines as its elements (a `ValueError` for one that is no JSON), and the nodes
    of a document otherwise. A file of lines has more than one, and the first is an object.
    """
    head = text.read(READ_AT_ONCE)
    rest = _Rejoined(head, text)
    first, *others = head.lstrip(_SPACE).split("\n")
    if first.startswith("{") and any(line.strip() for line in others) and not isinstance(_parse(first), ValueError):
        yield from (Node((), value, True) for value in _read_lines(rest))
    else:
        yield from read_document(rest)


def _read_lines(text: Readable) -> Iterator[Any]:
    number = blanks = 0
    while line := text.readline(MAX_ELEMENT_CHARACTERS):
        number += 1
        if not line.endswith("\n") and len(line) == MAX_ELEMENT_CHARACTERS:
            raise UnreadableFile(f"Line {number} is too long.")
        if line.strip():
            yield _parse(line)
        else:
            blanks += len(line)
            _check_blanks(blanks)


def _check_blanks(count: int) -> None:
    if count > MAX_BLANKS:
        raise UnreadableFile("The file holds nothing but blanks for too long.")


def _parse(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return ValueError("This line is not JSON.")


def _read(scanner: _Scanner, path: tuple[str, ...], *, inside: frozenset[str]) -> Iterator[Node]:
    match scanner.peek():
        case "[":
            yield from (Node(path, value, True) for value in _read_elements(scanner))
        case "{" if not path or (len(path) == 1 and path[0] in inside):
            for name in _read_names(scanner):
                yield from _read(scanner, (*path, name), inside=inside)
        case _:
            yield Node(path, scanner.read_value(), False)


def _read_elements(scanner: _Scanner) -> Iterator[Any]:
    yield from _read_separated(scanner, "[", "]", scanner.read_value)


def _read_names(scanner: _Scanner) -> Iterator[str]:
    def read_name() -> str:
        if scanner.peek() != '"':
            raise UnreadableFile("The file is not valid JSON.")
        name = scanner.read_value()
        scanner.take(":")
        return str(name)

    yield from _read_separated(scanner, "{", "}", read_name)


def _read_separated(scanner: _Scanner, opening: str, closing: str, read: Callable[[], Any]) -> Iterator[Any]:
    scanner.take(opening)
    if scanner.peek() == closing:
        scanner.take(closing)
        return
    while True:
        yield read()
        if scanner.peek() == closing:
            scanner.take(closing)
            return
        scanner.take(",")


class _Scanner:
    """A position in a text of which only the part around it is held."""

    def __init__(self, text: Readable) -> None:
        self._text, self._buffer, self._place, self._ended = text, "", 0, False

    def peek(self) -> str:
        """Return the next character that is no space; "" at the end."""
        blanks = 0
        while True:
            if found := _NO_SPACE.search(self._buffer, self._place):
                self._place = found.start()
                return found.group()
            blanks += len(self._buffer) - self._place
            self._place = len(self._buffer)
            _check_blanks(blanks)
            if not self._fill(READ_AT_ONCE):
                return ""

    def take(self, character: str) -> None:
        """Pass this character, which has to be the next."""
        found = self.peek()
        if found != character:
            reason = "The file breaks off in the middle." if not found else "The file is not valid JSON."
            raise UnreadableFile(reason)
        self._place += 1

    def read_value(self) -> Any:
        """Return the JSON value that begins here."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._buffer, self._place)
            except RecursionError as error:
                raise UnreadableFile("The file is nested too deeply.") from error
            except ValueError as error:
                if self._fill_more():
                    continue
                broken = "The file breaks off in the middle." if self._is_cut(error) else "The file is not valid JSON."
                raise UnreadableFile(broken) from error
            # A number may go on in what has not been read yet.
            if isinstance(value, int | float) and _REST_OF_NUMBER.match(self._buffer, end) and self._fill_more():
                continue
            self._place = end
            return value

    def _is_cut(self, error: ValueError) -> bool:
        place = getattr(error, "pos", 0)
        return place >= len(self._buffer.rstrip()) or "Unterminated string" in str(error)

    def _fill_more(self) -> bool:
        """Read as much again as is held of the value, so that trying again costs no more than it did so far."""
        held = len(self._buffer) - self._place
        if held > MAX_ELEMENT_CHARACTERS:
            raise UnreadableFile("The file holds an element that is too large.")
        return self._fill(max(READ_AT_ONCE, held))

    def _fill(self, characters: int) -> bool:
        if self._ended:
            return False
        more = self._text.read(characters)
        self._ended = not more
        self._buffer = self._buffer[self._place :] + more
        self._place = 0
        return bool(more)


class _Rejoined:
    """A text of which the beginning was read already."""

    def __init__(self, head: str, rest: Readable) -> None:
        self._head, self._rest = head, rest

    def read(self, size: int, /) -> str:
        taken, self._head = self._head[:size], self._head[size:]
        return taken or self._rest.read(size)

    def readline(self, size: int, /) -> str:
        end = self._head.find("\n") + 1
        if not end:
            line, self._head = self._head + self._rest.readline(size), ""
            return line
        line, self._head = self._head[:end], self._head[end:]
        return line
