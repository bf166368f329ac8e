"""Attributes that most people tell of themselves, and the questions they ask for them with. Pure, no Django.

"home: Leeds" shares no word with "Where do I live?", and a small embedder does not see that one asks for the other.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from apps.core.text.fold import normalize_key
from apps.core.text.scripts import holds_chinese

_DATA = Path(__file__).parent / "data" / "attributes.toml"


@dataclass(frozen=True, slots=True)
class Attribute:
    """How an attribute is asked for: whole `questions` in both languages, and `words` of questions."""

    questions: Sequence[str]
    words: Sequence[str]

    def phrase_question(self, *, chinese: bool) -> str:
        """Return its question in one language."""
        return next(question for question in self.questions if holds_chinese(question) == chinese)


def find_attribute(key: str) -> Attribute | None:
    """Return the attribute that a memory's key names; None for any other key."""
    return _load().get(normalize_key(key))


@cache
def _load() -> Mapping[str, Attribute]:
    tables = tomllib.loads(_DATA.read_text("utf-8")).values()
    return {
        normalize_key(key): Attribute(questions=table["questions"], words=table["words"])
        for table in tables
        for key in table["keys"]
    }
