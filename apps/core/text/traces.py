"""Where values occur in running text, and that text without them (L6)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from apps.core.text.fold import fold, normalize_value
from apps.core.text.pronouns import drop_pronouns
from apps.core.text.sentences import split_sentences

_PART = re.compile(r"[^\W_]+|[+#%‰$€£¥]+")
_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_NOT_AFTER = rf"(?<![^\W_{_CJK}])(?<!\d[.,])"
_NOT_BEFORE = rf"(?![^\W_{_CJK}])(?![.,]\d)"
_LEAST_CHARACTERS = 2
"""A shorter value is found as a whole sentence only: 是 is a part of too many."""

_MOST_SENTENCES = 5
"""Over which one value may go."""


class Cut(NamedTuple):
    """A text without the sentences that hold a value, and those sentences; `removed` is empty where none does."""

    text: str
    removed: tuple[str, ...]


class Traces:
    """Values to be found in text: whole words, whatever the case, width, script, pronouns and marks; plurals too."""

    def __init__(self, texts: Iterable[str]) -> None:
        forms = {text: normalize_value(text) for text in texts}
        self._whole = frozenset(form for form in forms.values() if 0 < len(form) < _LEAST_CHARACTERS)
        found = {_to_pattern(text) for text, form in forms.items() if len(form) >= _LEAST_CHARACTERS}
        patterns = sorted(filter(None, found), key=len, reverse=True)
        self._pattern = re.compile("|".join(patterns)) if patterns else None

    def __bool__(self) -> bool:
        return bool(self._whole or self._pattern)

    def stand_in(self, text: str) -> bool:
        """Whether a value is somewhere in `text`, or is a sentence of it."""
        return self._is_part_of(text) or any(map(self._is, split_sentences(text) if self._whole else ()))

    def cut_from(self, text: str) -> Cut:
        """Take out the sentences in which a value stands; one that goes over several takes them all with it."""
        if not self.stand_in(text):
            return Cut(text, ())
        kept: list[str] = []
        removed: list[str] = []
        for sentence in split_sentences(text):
            kept.append(sentence)
            for count in range(1, min(_MOST_SENTENCES, len(kept)) + 1):
                passage = "".join(kept[-count:])
                if self._is_part_of(passage) or self._is(passage):
                    del kept[-count:]
                    removed.append(passage.strip())
                    break
        rest = "".join(kept).strip()
        if self.stand_in(rest):  # a value over more sentences than that
            return Cut("", (text.strip(),))
        return Cut(rest, tuple(removed))

    def _is(self, sentence: str) -> bool:
        return bool(self._whole) and normalize_value(sentence) in self._whole

    def _is_part_of(self, text: str) -> bool:
        return self._pattern is not None and self._pattern.search(_to_words(text)) is not None


def _to_words(text: str) -> str:
    folded = " ".join(fold(text).split())
    return drop_pronouns(folded) or folded


def _to_pattern(value: str) -> str:
    """The value with any marks between its parts, not inside of a longer word or number."""
    parts = _PART.findall(_to_words(value))
    if not parts:
        return ""
    pattern = re.escape(parts[0])
    for before, part in pairwise(parts):
        between = r"[\W_]+" if before[-1].isdecimal() and part[0].isdecimal() else r"[\W_]*"
        pattern += between + re.escape(part)
    first, last = parts[0][0], parts[-1][-1]
    start = "" if _is_cjk(first) or not first.isalnum() else _NOT_AFTER
    plural = "(?:e?s)?" if last.isascii() and last.isalpha() else ""
    end = plural if _is_cjk(last) or not last.isalnum() else plural + _NOT_BEFORE
    return f"{start}{pattern}{end}"


def _is_cjk(character: str) -> bool:
    return re.match(f"[{_CJK}]", character) is not None
