"""Plain values of shared contexts, and whether two titles name the same case. Pure: no Django."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from apps.core.text.fold import normalize_key
from apps.core.text.keywords import extract_keywords, stem

MAX_TITLE_CHARACTERS = 200
MAX_AUTHOR_CHARACTERS = 100
MAX_CONTEXT_BYTES = 64 * 1024
"""Of the content and all entries together, as UTF-8 (X3)."""


@dataclass(frozen=True, slots=True)
class ContextEntrySnapshot:
    """One addition (X3)."""

    author: str
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ContextSnapshot:
    """A shared context as one turn sees it (X1): the background of a case, and what was added to it, in order."""

    id: UUID
    title: str
    content: str
    entries: Sequence[ContextEntrySnapshot]


_MAX_WORDS = 50


def names_same_case(one: str, other: str) -> bool:
    """Whether one title says all that the other does.

    合同纠纷 and 张三合同纠纷案 do; 李四合同纠纷案 and 张三合同纠纷案 are two cases.
    """
    if normalize_key(one) == normalize_key(other):
        return True
    words, others = _words(one), _words(other)
    return bool(words and others) and (words <= others or others <= words)


def _words(title: str) -> set[str]:
    return {stem(word) for word in extract_keywords(title, limit=_MAX_WORDS)}
