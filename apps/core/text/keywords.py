"""Keywords of a message (K1): what it is about, as folded words."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from functools import cache
from pathlib import Path

from apps.core.text.fold import fold_for_search
from apps.core.text.matching import match_words
from apps.core.text.pronouns import NEUTRAL
from apps.core.text.segment import rarity, signs

_DATA = Path(__file__).parent / "data"
_MIN_DIGITS = 4
"""Shorter numbers are counts, hours and days; from four digits on they are years, codes and numbers one asks for."""


def extract_keywords(text: str, *, limit: int = 10) -> list[str]:
    """The keywords of `text` in order of first occurrence, folded, each once, at most `limit` (K1).

    Stop words go, and so do numbers under four digits. One-character words go unless nothing else remains; emoji, and
    pronouns in their neutral form, remain only in a text of nothing else. Past `limit` the most important stay: those
    that occur often here and seldom in the language (tf-idf against the dictionary's counts).
    """
    counts = Counter(match_words(text))
    if counts.keys() - {"的"} == {NEUTRAL}:
        return [NEUTRAL][:limit]
    stop_words = load_stop_words()
    content = [word for word in counts if word != NEUTRAL and word not in stop_words and not _is_short_number(word)]
    keywords = [word for word in content if len(word) > 1] or content
    if not counts:
        keywords = list(dict.fromkeys(signs(fold_for_search(text))))[:limit]
    if len(keywords) > limit:
        chosen = set(sorted(keywords, key=lambda word: -counts[word] * rarity(word))[:limit])
        keywords = [word for word in keywords if word in chosen]
    return keywords


class Fate(StrEnum):
    """What becomes of a word of a message in the search for its keywords."""

    KEYWORD = "keyword"
    PRONOUN = "pronoun"
    STOP_WORD = "stop_word"
    SHORT_NUMBER = "short_number"
    ONE_CHARACTER = "one_character"
    LESS_IMPORTANT = "less_important"


def explain_keywords(text: str, *, limit: int = 10) -> dict[str, Fate]:
    """What `extract_keywords` makes of each word of `text`, folded, in order of first occurrence."""
    keywords = set(extract_keywords(text, limit=limit))
    words = dict.fromkeys([*match_words(text), *signs(fold_for_search(text))])
    return {word: Fate.KEYWORD if word in keywords else _explain_absence(word) for word in words}


def _explain_absence(word: str) -> Fate:
    if word == NEUTRAL:
        return Fate.PRONOUN
    if word in load_stop_words():
        return Fate.STOP_WORD
    if _is_short_number(word):
        return Fate.SHORT_NUMBER
    return Fate.ONE_CHARACTER if len(word) == 1 or signs(word) else Fate.LESS_IMPORTANT


@cache
def load_stop_words() -> frozenset[str]:
    """The stop words of both languages, folded: data/stop_words_zh.txt and data/stop_words_en.txt."""
    lines = [
        line for name in ("zh", "en") for line in (_DATA / f"stop_words_{name}.txt").read_text("utf-8").splitlines()
    ]
    return frozenset(fold_for_search(word) for line in lines if not line.startswith("#") for word in line.split())


def _is_short_number(word: str) -> bool:
    digits = word.replace(".", "")
    return digits.isdecimal() and len(digits) < _MIN_DIGITS
