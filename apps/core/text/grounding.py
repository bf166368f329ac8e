"""Whether a text that a model wrote rests on what somebody said: it shares a content word with it. Pure.

A guard, not a judge: it holds back what a weak model made up (``lotsa: "lotsa"``, the examples of the prompt), and lets
through every paraphrase that keeps one word of the original.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from apps.core.text.fold import fold
from apps.core.text.keywords import load_stop_words
from apps.core.text.matching import bigrams, match_words, stem
from apps.core.text.pronouns import NEUTRAL
from apps.core.text.segment import is_cjk
from apps.core.text.sentences import split_sentences

_NUMBER = re.compile(r"\d+")
_FILLER = frozenset({"user", "用户"})
"""What every sentence about the person has: it grounds nothing."""


def is_grounded(text: str, *, said: str) -> bool:
    """Whether `text` shares a content word, or a number, with `said`.

    English words meet by their stem; of Chinese, two neighbouring characters or a word of one character are enough.
    A text without any content word is grounded only where it occurs in `said` as it is.
    """
    content = _content_words(text)
    if not content:
        return _stands_in(fold(text).strip(), fold(said))
    heard = fold(said)
    stems = {stem(word) for word in match_words(said)}
    numbers = set(_NUMBER.findall(heard))
    return any(_is_heard(word, heard=heard, stems=stems, numbers=numbers) for word in content)


def read_questions(text: str) -> str:
    """The questions in what an assistant said: a short answer agrees to their words, to no others of its."""
    return " ".join(part for part in map(str.strip, split_sentences(text)) if part.endswith(("?", "？")))


def is_said_by(text: str, *, said: str) -> bool:
    """Whether every content word and number of `text` is in `said`, too."""
    heard = fold(said)
    stems, numbers = {stem(word) for word in match_words(said)}, set(_NUMBER.findall(heard))
    return all(_is_heard(word, heard=heard, stems=stems, numbers=numbers) for word in _content_words(text))


def _stands_in(text: str, said: str) -> bool:
    """Whether a text occurs in another as it is; of letters and digits as whole words."""
    return bool(text) and re.search(rf"(?<![a-z0-9'’]){re.escape(text)}(?![a-z0-9])", said) is not None


def _content_words(text: str) -> list[str]:
    stop_words = load_stop_words()
    return [
        word
        for word in match_words(text)
        if word != NEUTRAL and word not in stop_words and word not in _FILLER and (len(word) > 1 or _is_telling(word))
    ]


def _is_telling(character: str) -> bool:
    return is_cjk(character) or character.isdecimal()


def _is_heard(word: str, *, heard: str, stems: Collection[str], numbers: Collection[str]) -> bool:
    if is_cjk(word):
        return word in heard or any(pair in heard for pair in bigrams(word))
    if word[0].isdecimal():
        return any(number in numbers for number in _NUMBER.findall(word))
    return stem(word) in stems
