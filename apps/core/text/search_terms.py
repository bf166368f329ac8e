"""What has to occur in a text that a search finds. Pure: no Django.

English and other words with spaces between them are found by their beginnings ("pyth" finds Python), Chinese, Japanese
and Korean anywhere, in the scripts that people write them in. The SQL functions `message_text` and `message_words`
normalise texts and take them apart the same way.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from apps.core.text.clean import clean_text
from apps.core.text.fold import fold, strip_accents
from apps.core.text.keywords import extract_keywords
from apps.core.text.segment import cjk_runs, is_cjk

MAX_TERMS = 20
"""Further ones are ignored: nothing that people look for needs them, and each of them takes time."""

DIGITS = "0-9"
LETTERS = r"a-z\u00df-\u00f6\u00f8-\u024f\u0370-\u0587\u05d0-\u1fff"
"""Letters in lower case, but for those of `cjk_runs`, as ranges of a regular expression."""

WORD = re.compile(f"[{DIGITS}{LETTERS}]+")

_MEANT = re.compile(r"[+#@/\\_%&=$€£*.:]")
"""Marks that make another thing of a word: C++ is not C, 3.14 is not 3 and 14."""

_AROUND = " .,;:!?()[]{}<>\"'“”‘’。，；：！？（）【】《》、…"


@dataclass(frozen=True, slots=True)
class SearchTerms:
    """All of this has to occur. `words`: as beginnings of words, in lower case. `parts`: each anywhere, in one of its
    spellings. `literals`: anywhere, whatever the case."""

    words: tuple[str, ...] = ()
    parts: tuple[tuple[str, ...], ...] = ()
    literals: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.words or self.parts or self.literals)

    @property
    def needles(self) -> list[str]:
        """What is to be marked in a text, folded, the longest first."""
        found = {*self.words, *(fold(part[0]) for part in self.parts), *map(fold, self.literals)}
        return sorted(found, key=lambda needle: (-len(needle), needle))


def parse_search(query: str) -> SearchTerms:
    """Return what a query looks for, word by word as it was typed."""
    chunks = [chunk.strip(_AROUND) for chunk in _normalise(query).split()]
    chunks = list(dict.fromkeys(filter(None, chunks)))[:MAX_TERMS]
    words = [word for chunk in chunks for word in WORD.findall(chunk)]
    parts = [run for chunk in chunks for run in cjk_runs(chunk)]
    literals = [chunk for chunk in chunks if _MEANT.search(chunk) or not (WORD.search(chunk) or cjk_runs(chunk))]
    if not chunks and query.strip():
        literals = [_normalise(query).strip()]  # nothing but punctuation: as it stands
    return _make_terms(words, parts, literals)


def parse_question(query: str) -> SearchTerms:
    """Return the keywords of a query that was not typed for a search, such as a question: without stop words."""
    keywords = extract_keywords(query)
    return _make_terms(
        (word for keyword in keywords if not is_cjk(keyword) for word in WORD.findall(keyword)),
        (run for keyword in keywords for run in cjk_runs(keyword)),
        (),
    )


def _make_terms(words: Iterable[str], parts: Iterable[str], literals: Iterable[str]) -> SearchTerms:
    return SearchTerms(
        words=tuple(dict.fromkeys(words))[:MAX_TERMS],
        parts=tuple(map(list_spellings, dict.fromkeys(parts)))[:MAX_TERMS],
        literals=tuple(dict.fromkeys(literals))[:MAX_TERMS],
    )


def warm_up() -> None:
    """Read the dictionary now, so that the first search of a process does not wait for it."""
    list_spellings("中")


def list_spellings(text: str) -> tuple[str, ...]:
    """Return Chinese text as it is and in simplified and traditional characters, each once."""
    return tuple(dict.fromkeys([text, *(_get_converter(name).convert(text) for name in ("t2s", "s2t"))]))


def _normalise(text: str) -> str:
    # As the SQL function `message_text`. What tells an emoji from a plain sign (U+FE0F) is not looked for.
    plain = unicodedata.normalize("NFKC", clean_text(text)).lower().replace("\ufe0f", "")
    return strip_accents(plain).replace("ß", "ss")


@cache
def _get_converter(name: str) -> Any:
    from opencc import OpenCC

    return OpenCC(name)
