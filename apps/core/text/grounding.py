"""Whether a text that a model wrote rests on what somebody said: it shares a content word with it. Pure.

A guard, not a judge: it holds back what a weak model made up (``lotsa: "lotsa"``, the examples of the prompt), and lets
through every paraphrase that keeps one word of the original.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from apps.core.text.fold import fold
from apps.core.text.keywords import load_stop_words
from apps.core.text.matching import bigrams, match_words, stem
from apps.core.text.pronouns import NEUTRAL
from apps.core.text.segment import is_cjk
from apps.core.text.sentences import split_sentences
from apps.core.text.text_cache import cache_texts

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
    heard = _hear(said)
    return any(_is_heard(word, heard) for word in content)


def read_questions(text: str) -> str:
    """The questions in what an assistant said: a short answer agrees to their words, to no others of its."""
    return " ".join(part for part in map(str.strip, split_sentences(text)) if part.endswith(("?", "？")))


def is_said_by(text: str, *, said: str) -> bool:
    """Whether every content word and number of `text` is in `said`, too."""
    return not list_unsaid(text, said=said)


def list_unsaid(text: str, *, said: str) -> list[str]:
    """Return the content words and numbers of `text` that are not in `said`."""
    heard = _hear(said)
    return [word for word in _content_words(text) if not _is_heard(word, heard)]


def has_content(text: str) -> bool:
    """Whether a text has a word that can be looked for in what was said: "yes", "of it" and punctuation have none."""
    return bool(_content_words(text))


def leans_on_others(text: str, *, own: str, others: str) -> bool:
    """Whether more of the content words of `text` come from `others` alone than occur in a person's `own` words.

    `others`: what somebody else said where the text was made, such as an attached file or the assistant; it may be
    long, so it is searched as it is and not taken apart.
    """
    words = set(_content_words(text)) if others else set()
    foreign = _fold_others(others)
    theirs = {word for word in words if _occurs(word, foreign)}
    if not theirs:
        return False
    heard = _hear(own)
    mine = {word for word in words if _is_heard(word, heard)}
    return len(theirs - mine) > len(mine)


@dataclass(frozen=True, slots=True)
class _Heard:
    """What was said, to look words up in: folded, its words by their stems, its numbers."""

    text: str
    stems: frozenset[str]
    numbers: frozenset[str]


@cache_texts(16)
def _hear(said: str) -> _Heard:
    """Many texts of one answer are compared with the same message, which may be long."""
    folded = fold(said)
    return _Heard(folded, frozenset(map(stem, match_words(said))), frozenset(_NUMBER.findall(folded)))


@cache_texts(4)
def _fold_others(others: str) -> str:
    return fold(others)


def _occurs(word: str, text: str) -> bool:
    if is_cjk(word):
        return word in text or any(pair in text for pair in bigrams(word))
    return stem(word) in text


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


def _is_heard(word: str, heard: _Heard) -> bool:
    if is_cjk(word):
        return word in heard.text or any(pair in heard.text for pair in bigrams(word))
    if word[0].isdecimal():
        return any(number in heard.numbers for number in _NUMBER.findall(word))
    return stem(word) in heard.stems
