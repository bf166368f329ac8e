"""Stems of words, chosen by alphabet, and for Latin letters by the function words of the whole text. Pure.

A text whose language is not certain counts as English, and its words keep their English stems in any case: what is said
and what is asked then meet even where only one of them shows its language.
"""

from __future__ import annotations

import re
import threading
from typing import Any

from apps.core.text.text_cache import cache_texts

_ALPHABETS = {
    "english": re.compile("[a-z]{3,40}"),
    "arabic": re.compile("[\u0621-\u065f\u0670-\u06d3]{3,40}"),
    "russian": re.compile("[\u0430-\u045f]{3,40}"),
    "greek": re.compile("[\u0386-\u03ce]{3,40}"),
}

# Frequent words, without accents, that tell a language. A word of two of these languages counts for both.
_TELLING = {
    "english": "the a an and or of to in on at is are was were be do does did have has had i my me you your we our "
    "it he she his her they that this what who where when which how why with for from by not so am will "
    "can there",
    "german": "ich du er sie es wir ihr mein meine meinen meinem meiner mich mir der die das den dem des ein eine "
    "einen einem einer und oder nicht kein keine ist sind bin hat habe haben war waren wird werde bei "
    "mit von zu zum zur im am an auf aus in nach fur seit als auch wie was wer wo wann wohin woher "
    "warum welche welcher welches welchen welchem davon gern heisst heissen uber um",
    "spanish": "yo mi mis me tu te se el la los las un una unos unas y o de del al en a con por para sin sobre "
    "desde que cual cuando donde como quien es son soy fue era estoy esta estan tengo tiene he ha hay "
    "no muy lo le nos su sus",
    "french": "je j tu il elle nous vous on mon ma mes me le la les l un une des du de d et ou en a au aux dans "
    "sur sous avec pour par sans depuis que qui quel quelle quels quelles quand comment est sont suis "
    "ai as ont etait ne pas ce cette ces",
}
_LANGUAGES = {name: frozenset(words.split()) for name, words in _TELLING.items()}
_WORD = re.compile("[a-z]+")

_stemmers = threading.local()


@cache_texts(4_000)
def find_latin_language(folded: str) -> str:
    """The language of a folded text in Latin letters, as Snowball calls it: the one most of whose words it has.

    "english" unless it has two words of another one, and more of them than English ones.
    """
    words = set(_WORD.findall(folded))
    counts = {name: len(words & telling) for name, telling in _LANGUAGES.items()}
    best = max(counts, key=counts.__getitem__)  # of equals the first, which is English
    return best if counts[best] > 1 else "english"


def stem_word(word: str, language: str = "english") -> str:
    """The Snowball stem of a folded word; `language` counts for Latin letters. Words of other scripts are their own."""
    for alphabet, pattern in _ALPHABETS.items():
        if pattern.fullmatch(word):
            return _stem(word, language if alphabet == "english" else alphabet)
    return word


def _stem(word: str, language: str) -> str:
    stemmer: Any = getattr(_stemmers, language, None)
    if stemmer is None:  # one per thread: a stemmer keeps the word it works on
        from snowballstemmer import stemmer as create  # its thirty languages: only where a word is to be stemmed

        stemmer = create(language)
        setattr(_stemmers, language, stemmer)
    result: str = stemmer.stemWord(word)
    stemmer.set_current("")
    return result or word
