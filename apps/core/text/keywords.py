"""The words in which messages and memories are compared (K2, K4), keywords (K1) and topics made of them. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path

from apps.core.text.fold import fold_for_search, strip_accents
from apps.core.text.languages import stem_word
from apps.core.text.segment import NEUTRAL, is_cjk, normalize_pronouns, rarity, signs, words
from apps.core.text.text_cache import cache_texts

_LETTERS = re.compile(r"[^\W\d_]{2,}")


def match_words(text: str) -> list[str]:
    """The words of `text` in order: jieba's default mode, folded as for a search, without 's, pronouns neutral."""
    return normalize_pronouns(map(strip_possessive, words(fold_for_search(text))))


def strip_possessive(word: str) -> str:
    """`word` without the English possessive: dog's → dog."""
    return word.removesuffix("'s").removesuffix("’s")


@cache_texts(20_000)
def stem(word: str) -> str:
    """The stem of a folded word by its alphabet (Snowball), of Latin letters the English one: running → run."""
    return stem_word(word)


def bigrams(word: str) -> list[str]:
    """Every two neighbouring characters of `word`, in order."""
    return [word[start : start + 2] for start in range(len(word) - 1)]


@cache_texts(20_000)
def word_parts(word: str) -> tuple[str, ...]:
    """The parts of a folded word, two characters or longer, whose occurrence says something about the word (K4's 0.3).

    Of a Chinese (or Japanese, or Korean) word every two neighbouring characters: a longer part contains one of them. Of
    other words their runs of letters (python3 → python) and the stems of those (running → run): that programmer and
    project share "pro" means nothing.
    """
    if is_cjk(word):
        return tuple(dict.fromkeys(bigrams(word))) if len(word) > 2 else ()
    runs = _LETTERS.findall(word)
    return tuple(part for part in dict.fromkeys([*runs, *map(stem, runs)]) if part != word)


_DATA = Path(__file__).parent / "data"
# Shorter numbers are counts, hours and days; from four digits on they are years, codes and numbers one asks for.
_MIN_DIGITS = 4


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


# Nats that the words of a message carry in all before it has a topic of its own: "true", 的确 and "that helped" are
# below, two words of some rarity above.
LEAST_INFORMATION = 18.0

# The information of a word in letters, which has no counts: the rarer, the longer (Zipf's law of abbreviation).
# English has about this entropy a letter (Shannon 1951).
NATS_A_LETTER = 1.3

MAX_WORDS = 12
# Characters between two words that are named together: "trip to Tokyo", 人工智能的未来.
_MAX_GAP = 4


def find_topic(
    message: str, *, folded: str, earlier: Sequence[str] = (), is_vague: Callable[[str], object]
) -> str | None:
    """Return the words of a message that tell most, one or two that stand together; None where it tells too little.

    `folded`: the message character by character as keywords are written. What was said `earlier`, too, folded as well,
    tells more. `is_vague`: of a folded word that names nothing.
    """
    words = [word for word in _list_words(folded) if len(word) > 1 and not is_vague(word)]
    if sum(map(measure, words)) < LEAST_INFORMATION:
        return None
    plain = strip_accents(folded)  # as keywords are, and as long: an accent by itself is the exception
    spoken = plain if len(plain) == len(folded) else folded
    places = sorted((at, word) for word in words if (at := spoken.find(word)) >= 0)
    weights = {word: measure(word) * (1 + sum(word in text for text in earlier)) for word in words}
    best, phrase = 0.0, ""
    for number, (at, word) in enumerate(places):
        end = at + len(word)
        if weights[word] > best:
            best, phrase = weights[word], message[at:end]
        for start, other in places[number + 1 : number + 2]:
            between = folded[end:start]
            if len(between) <= _MAX_GAP and not _BREAK.search(between) and weights[word] + weights[other] > best:
                best, phrase = weights[word] + weights[other], message[at : start + len(other)]
    return phrase or None


def tells_enough(text: str) -> bool:
    """Return whether the words of a text carry enough for it to be a title."""
    return sum(map(measure, _list_words(text))) >= LEAST_INFORMATION


def _list_words(text: str) -> list[str]:
    return [word for word in extract_keywords(text, limit=MAX_WORDS) if word.isalnum() or not signs(word)]


def measure(word: str) -> float:
    """Return how much a folded word tells, in nats."""
    return NATS_A_LETTER * len(word) if word.isascii() else rarity(word)


_BREAK = re.compile(r"[^\w\s-]|\n")
