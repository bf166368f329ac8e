"""What a format of files is: its names, how it is recognized, and how it is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from apps.doors.imports.formats.uploads import Upload
from apps.doors.imports.types import Item


def gettext_noop(text: str) -> str:
    """Mark a text for translation where it is shown. Django's own would make the formats depend on Django."""
    return text


@dataclass(frozen=True, slots=True)
class Clue:
    """A place in a file by which its format is recognized.

    `path`: the names that lead to it. `found`: the object that stands there as an element of an array, or, with an
    empty path, the whole document; empty for anything else. `top`: the values at the top of the document so far.
    """

    path: tuple[str, ...]
    found: Mapping[str, Any]
    top: Mapping[str, Any]

    @property
    def under(self) -> str:
        """The name of the array at the top that it is in; "" for the array that the document is, and for the whole."""
        return self.path[0] if self.path else ""

    def has(self, *names: str) -> bool:
        """Whether the object has all of these names."""
        return self.found.keys() >= set(names)

    def has_any(self, *names: str) -> bool:
        """Whether the object has one of these names."""
        return not self.found.keys().isdisjoint(names)


class Format(ABC):
    """A kind of file that can be imported.

    `name`: in REST, on the command line and in the database. `label`: the service. `description`: what file it is.
    `restores`: whether it is restored as a whole, rather than imported item by item, and so cannot be undone.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    description: ClassVar[str]
    restores: ClassVar[bool] = False

    @abstractmethod
    def score(self, clue: Clue) -> float:
        """Return how sure it is, from 0 to 1, that a file is of this format; up to 0.5 where others may look so."""

    @abstractmethod
    def read(self, upload: Upload) -> Iterator[Item]:
        """Yield what a file holds. Raises `UnreadableFile` where it breaks off, after what came before."""
