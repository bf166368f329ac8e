"""Attributes that most people tell of themselves: their names, how they are asked for, and how they are told. Pure.

"home: Leeds" shares no word with "Where do I live?", and a small embedder does not see that one asks for the other.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from apps.core.text.fold import fold, normalize_key
from apps.core.text.segment import holds_chinese
from apps.core.text.text_cache import cache_texts

_DATA = Path(__file__).parent / "data" / "attributes.toml"


@dataclass(frozen=True, slots=True)
class Attribute:
    """`questions` ask for it, in both languages, and so do single `words`. `telling` finds a sentence that tells it."""

    name: str
    questions: Sequence[str]
    words: Sequence[str]
    telling: re.Pattern[str] | None
    is_list: bool

    def phrase_question(self, *, chinese: bool) -> str:
        """Return its question in one language."""
        return next(question for question in self.questions if holds_chinese(question) == chinese)

    def is_told(self, sentence: str) -> bool:
        """Whether a sentence tells it of the person who says it, or of "the user"."""
        return self.telling is not None and self.telling.search(fold(sentence).replace("’", "'")) is not None


@cache_texts(2_000)
def find_attribute(name: str) -> Attribute | None:
    """Return the attribute that a memory's key, or a phrase ("where I live"), names; None for any other."""
    return _load().get(normalize_key(name))


def find_told_attribute(sentence: str) -> Attribute | None:
    """Return the first attribute that a sentence tells."""
    return next((one for one in dict.fromkeys(_load().values()) if one.is_told(sentence)), None)


@cache
def _load() -> Mapping[str, Attribute]:
    """Each attribute by each of its names."""
    tables = tomllib.loads(_DATA.read_text("utf-8"))
    who = tables.pop("who")
    fill = partial(re.sub, r"\{([a-z]+)\}", lambda found: f"(?:{who[found[1]]})")
    found = dict[str, Attribute]()
    for name, table in tables.items():
        attribute = Attribute(
            name=name,
            questions=tuple(table["questions"]),
            words=tuple(table["words"]),
            telling=re.compile(fill(table["says"])) if "says" in table else None,
            is_list=table.get("list", False),
        )
        found |= {normalize_key(each): attribute for each in table["names"]}
    return found
