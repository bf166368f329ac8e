"""What is said in one of many languages is found by words alone, among what is said in all of them (languages.toml)."""

import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from apps.core.text.languages import find_latin_language, stem_word
from apps.core.text.search import bm25_terms
from apps.memory.recall.atomic import rank_recall
from apps.memory.recall.query import AtomicQuery
from benchmarks.train_ranking import make_recall

PAIRS = tomllib.loads(Path(__file__).with_name("languages.toml").read_text("utf-8"))
SAID = [said for pairs in PAIRS.values() for said, _asked in pairs]


@cache
def read_terms() -> list[Counter[str]]:
    return [Counter(bm25_terms(said)) for said in SAID]


def rank_of(said: str, asked: str) -> int:
    """The place of what was said among all that was said, from 0, by words alone."""
    query = AtomicQuery(asked)
    ranking = rank_recall(make_recall(SAID, query, documents=read_terms()), query)
    order = ranking.order.tolist()
    return order.index(SAID.index(said)) if SAID.index(said) in order else len(SAID)


@pytest.mark.parametrize(
    ("language", "floor"),
    [
        *(("ja", 12), ("ko", 12), ("de", 10), ("es", 9), ("ar", 11)),
        *(("fr", 2), ("ru", 3), ("th", 4), ("zh", 10), ("en", 9)),
    ],
)
def test_the_words_of_a_question_find_what_was_said(language: str, floor: int) -> None:
    assert sum(rank_of(said, asked) < 5 for said, asked in PAIRS[language]) >= floor


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("was fur allergien habe ich?", "german"),
        ("que alergias tengo?", "spanish"),
        ("quelles allergies ai-je ?", "french"),
        ("we saw die hard in the cinema", "english"),
        ("berlin", "english"),
        ("", "english"),
    ],
)
def test_a_language_needs_two_of_its_words_and_more_than_english(text: str, language: str) -> None:
    assert find_latin_language(text) == language


def test_stems_follow_the_alphabet_and_the_language() -> None:
    assert stem_word("кошки") == stem_word("кошка")
    assert stem_word("العزف") == stem_word("عزف")
    assert stem_word("hermanas", "spanish") == stem_word("hermana", "spanish")
    assert stem_word("猫") == "猫"
