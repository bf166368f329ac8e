"""The words in which messages and memories are compared (K2, K3, K4): folded, segmented, pronouns neutral."""

from __future__ import annotations

import re
import threading
from typing import Any

from apps.core.text.fold import fold_for_search
from apps.core.text.pronouns import normalize_pronouns
from apps.core.text.segment import is_cjk, words
from apps.core.text.text_cache import cache_texts

_ENGLISH_WORD = re.compile("[a-z]{3,40}")
_LETTERS = re.compile(r"[^\W\d_]{2,}")

_stemmers = threading.local()


def match_words(text: str) -> list[str]:
    """The words of `text` in order: jieba's default mode, folded as for a search, without 's, pronouns neutral."""
    return normalize_pronouns(map(strip_possessive, words(fold_for_search(text))))


def strip_possessive(word: str) -> str:
    """`word` without the English possessive: dog's → dog."""
    return word.removesuffix("'s").removesuffix("’s")


@cache_texts(20_000)
def stem(word: str) -> str:
    """The stem of a folded English word (Snowball): colors → color, running → run. Other words are their own stem."""
    if not _ENGLISH_WORD.fullmatch(word):
        return word
    stemmer: Any = getattr(_stemmers, "english", None)
    if stemmer is None:  # one per thread: a stemmer keeps the word it works on
        stemmer = _stemmers.english = _create_stemmer()
    result: str = stemmer.stemWord(word)
    stemmer.set_current("")
    return result


def warm_up() -> None:
    """Load the stemmer now, so that the first search of a process does not wait for it."""
    _create_stemmer()


def _create_stemmer() -> Any:
    from snowballstemmer import stemmer  # its thirty languages: only where a word is to be stemmed

    return stemmer("english")


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
