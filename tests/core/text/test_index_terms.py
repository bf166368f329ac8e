"""Index terms and tsquery literals, without a database."""

from __future__ import annotations

import pytest

from apps.core.text.keywords import stem, word_parts
from apps.core.text.search import MAX_TERM_CHARACTERS, MAX_TERMS_BYTES, index_terms, keyword_query, recall_query


@pytest.mark.spec("K3")
def test_terms_are_search_words_stems_and_bigrams() -> None:
    assert set(index_terms("你喜歡的编程语言 Running dogs")) == {
        *("我", "喜欢", "的", "编程", "语言", "编程语言", "running", "run", "dogs", "dog"),
        *("你喜", "欢的", "的编", "程语"),
    }


@pytest.mark.long
def test_terms_stay_small() -> None:
    long_word = index_terms("x" * 3_000)
    assert long_word == ["x" * MAX_TERM_CHARACTERS]
    characters = "".join(map(chr, range(0x4E00, 0x9FA6)))
    terms = index_terms("".join(characters[start::stride] for stride in range(1, 6) for start in range(stride)))
    assert MAX_TERMS_BYTES * 0.9 < sum(len(term.encode()) for term in terms) <= MAX_TERMS_BYTES


@pytest.mark.spec("K3")
@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("ASR1605", ["asr1605", "1605"]),
        ("iphone15pro", ["iphone15pro", "15pro", "pro"]),
        ("ｶﾞｷﾞ ５Ｇ", ["ガギ", "5g", "g"]),
        ("a" + "1b" * 20, ["a" + "1b" * 20]),  # a digest: nobody looks for a part of it
        ("Café Ångström", ["cafe", "angstrom"]),
        ("🐱👍🏽", ["🐱", "👍"]),
        ("🇫🇷", ["🇫🇷"]),
    ],
)
def test_what_else_a_text_is_found_by(text: str, terms: list[str]) -> None:
    assert index_terms(text) == terms


def test_no_terms() -> None:
    assert index_terms("") == index_terms("。！ ") == []


def test_queries() -> None:
    assert keyword_query("pyth") == "'pyth':*"
    assert recall_query(["编程语言", "颜色"]) == "'编程语言':* | '编程' | '程语' | '语言' | '颜色':*"
    assert recall_query(["running"]) == "'running':* | 'run'"
    assert recall_query(["allergic"]) == "'allergic':* | 'allerg':*"
    assert recall_query([]) == ""


def test_a_query_cuts_terms_as_the_index_does() -> None:
    assert keyword_query("x" * 3_000) == f"'{'x' * MAX_TERM_CHARACTERS}':*"


def test_whatever_a_keyword_contains_is_quoted() -> None:
    assert keyword_query("a'b\\c:*|!d") == "'a''b\\\\c:*|!d':*"


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("编程语言", ("编程", "程语", "语言")),
        ("颜色", ()),
        ("colors", ("color",)),
        ("color", ()),
        ("python3", ("python",)),
        ("c++", ()),
        ("1998", ()),
        ("コーヒー", ("コー", "ーヒ", "ヒー")),
    ],
)
def test_word_parts(word: str, parts: tuple[str, ...]) -> None:
    assert word_parts(word) == parts


@pytest.mark.parametrize(("word", "expected"), [("allergies", "allergi"), ("是", "是"), ("c++", "c++"), ("is", "is")])
def test_stem(word: str, expected: str) -> None:
    assert stem(word) == expected
