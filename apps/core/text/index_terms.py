"""The full-text side of recall (K3): terms of a stored text, and tsqueries that find them.

PostgreSQL takes a run of Chinese for one token and has no Chinese dictionary, so the terms are made here and stored as
they are: ``array_to_tsvector(index_terms(text))`` on one side, ``recall_query(keywords)::tsquery`` on the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from apps.core.text.fold import fold_for_search
from apps.core.text.matching import bigrams, stem, strip_possessive, word_parts
from apps.core.text.pronouns import normalize_pronouns
from apps.core.text.segment import cjk_runs, mixed_parts, search_words, signs

MIN_STEM_PREFIX = 5
"""Shorter stems begin too many unrelated words (run: rung)."""

MAX_TERM_CHARACTERS = 64
"""Longer terms are cut, in texts and in queries alike; PostgreSQL allows 2,046 bytes, which is 511 characters."""

MAX_TERMS_BYTES = 400_000
"""Terms past this size in all are left out: PostgreSQL refuses a tsvector of 1 MB. 32,000 characters stay below it."""


def index_terms(text: str) -> list[str]:
    """The distinct terms under which `text` is found, for ``array_to_tsvector(text[])``.

    Words of jieba's search mode, folded and with neutral pronouns; the stem of each English word; of a word of letters
    and digits what follows each change from one to the other (asr1605: 1605); every two neighbouring Chinese, Japanese
    or Korean characters, which find what the segmentation missed; and emoji.
    """
    terms: dict[str, None] = {}
    size = 0
    for term in _terms(fold_for_search(text)):
        cut = term[:MAX_TERM_CHARACTERS]
        if cut in terms:
            continue
        size += len(cut.encode())
        if size > MAX_TERMS_BYTES:
            break
        terms[cut] = None
    return list(terms)


def _terms(folded: str) -> Iterator[str]:
    for word in normalize_pronouns(map(strip_possessive, search_words(folded))):
        yield word
        yield stem(word)
        parts = mixed_parts(word)
        yield from ("".join(parts[start:]) for start in range(1, len(parts)))
    for run in cjk_runs(folded):
        yield from bigrams(run)
    yield from signs(folded)


def keyword_query(keyword: str) -> str:
    """The tsquery literal that finds texts with a term that starts with `keyword` ("pyth" finds python)."""
    return f"{_quote(keyword)}:*"


def recall_query(keywords: Sequence[str]) -> str:
    """The tsquery literal that finds texts with any of `keywords`, or only a part of one (K4). "" without keywords."""
    literals: Iterable[str] = (
        literal for keyword in keywords for literal in (keyword_query(keyword), *map(_part_query, word_parts(keyword)))
    )
    return " | ".join(dict.fromkeys(literals))


def _part_query(part: str) -> str:
    """The literal for a part of a keyword; a long English stem may go on: allerg(ic) finds allerg(ies)."""
    return f"{_quote(part)}:*" if part.isascii() and len(part) >= MIN_STEM_PREFIX else _quote(part)


def _quote(term: str) -> str:
    """`term` as a quoted lexeme of PostgreSQL's tsquery input: whatever it contains, it stays one lexeme."""
    return "'" + term[:MAX_TERM_CHARACTERS].replace("\\", "\\\\").replace("'", "''") + "'"
