"""What adds something to what is shown already: a prompt says each thing once (A4, C4). Pure, no Django."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from apps.core.text.bm25_terms import bm25_terms
from apps.core.text.fold import fold

MISSING_SHARE = 0.1
"""A text says nothing new if another one has all but so many of its words."""

_DIGIT = re.compile(r"\d")
_NEGATION = re.compile(r"\b(?:not|no|never|none|nothing|nobody|without|cannot)\b|n['’]t\b|[不没未无别]")


@dataclass(frozen=True, slots=True)
class _Said:
    terms: frozenset[str]
    negated: bool

    def says(self, other: _Said) -> bool:
        """Whether `other` says nothing beyond this: no word, no number, no denial."""
        if other.negated != self.negated:
            return False
        missing = other.terms - self.terms
        return len(missing) <= MISSING_SHARE * len(other.terms) and not any(map(_DIGIT.search, missing))


class Shown:
    """Texts that are shown, such as the messages of the window; each that adds something joins them."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts = [_read(text) for text in texts]

    def add(self, text: str) -> bool:
        """Whether `text` says anything that no single text shown says; then it is one of them from now on.

        A text without any word to compare, such as 😀, is never taken for a repetition.
        """
        said = _read(text)
        repeats = bool(said.terms) and any(known.says(said) for known in self._texts)
        if not repeats:
            self._texts.append(said)
        return not repeats


def _read(text: str) -> _Said:
    return _Said(terms=frozenset(bm25_terms(text)), negated=_NEGATION.search(fold(text)) is not None)
