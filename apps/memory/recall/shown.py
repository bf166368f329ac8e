"""What adds something to what is shown already: a prompt says each thing once (A4, C4). Pure, no Django."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from apps.core.text.fold import fold_for_search
from apps.core.text.search import bm25_terms
from apps.core.text.sentences import split_sentences

MISSING_SHARE = 0.1
"""A text says nothing new if another one has all but so many of its words."""

# The same said in other words: a memory is shorter than the sentence that it was made of.
TOLD_SHARE = 0.4

_DIGIT = re.compile(r"\d")
_NEGATION = re.compile(r"\b(?:not|no|never|none|nothing|nobody|without|cannot)\b|n['’]t\b|[不没未无别]")


@dataclass(frozen=True, slots=True)
class _Said:
    """A text as others are looked for in it: folded, and whether it denies something."""

    folded: str
    negated: bool

    def says(self, terms: Collection[str], *, negated: bool) -> bool:
        """Whether another text of these terms says nothing beyond this: no word, no number, no denial."""
        if negated != self.negated:
            return False
        missing = [term for term in terms if not self._has(term)]
        return len(missing) <= MISSING_SHARE * len(terms) and not any(map(_DIGIT.search, missing))

    def _has(self, term: str) -> bool:
        if term not in self.folded:
            return False
        # 7 is not in 17:45.
        return not _DIGIT.search(term) or re.search(rf"(?<!\d){re.escape(term)}(?!\d)", self.folded) is not None


class Shown:
    """Texts that are shown, such as the messages of the window; each that adds something joins them.

    They are not cut into words, which would take longer than everything else of a prompt: terms are looked for in them.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts = [_read(text) for text in texts]

    def add(self, text: str) -> bool:
        """Whether `text` says anything that no single text shown says; then it is one of them from now on.

        A text without any word to compare, such as 😀, is never taken for a repetition.
        """
        said, terms = _read(text), set(bm25_terms(text))
        repeats = bool(terms) and any(known.says(terms, negated=said.negated) for known in self._texts)
        if not repeats:
            self._texts.append(said)
        return not repeats


def tells_all(memories: Sequence[str], message: str) -> bool:
    """Whether memories that came from a message tell all of it: each sentence with two words or more, by half of them.

    A memory may hold one sentence of its message; of several, the others may be what is asked for.
    """
    known = [set(bm25_terms(memory)) for memory in memories]
    sentences = split_sentences(message)
    if len(sentences) < 2 or not known:
        return bool(known)
    telling = [words for sentence in sentences if len(words := set(bm25_terms(sentence))) > 1]
    return all(any(len(words & one) >= TOLD_SHARE * len(words) for one in known) for words in telling)


def _read(text: str) -> _Said:
    folded = fold_for_search(text)
    return _Said(folded=folded, negated=_NEGATION.search(folded) is not None)
