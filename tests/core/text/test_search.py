"""Full-text search: terms of a text (K3, A4), what a search looks for, where it occurs, and in which languages."""

from __future__ import annotations

import tomllib
import unicodedata
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.text.keywords import word_parts
from apps.core.text.languages import find_latin_language, stem_word
from apps.core.text.search import (
    MAX_TERM_CHARACTERS,
    MAX_TERMS_BYTES,
    bm25_terms,
    cut_excerpt,
    find_ranges,
    index_terms,
    keyword_query,
    parse_question,
    parse_search,
    recall_query,
)
from apps.memory.recall.atomic import rank_recall
from apps.memory.recall.query import AtomicQuery
from benchmarks.train_ranking import make_recall


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


@pytest.mark.spec("A4")
@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", []),
        ("I was running and he runs", ["run", "run"]),
        ("My dog's toys", ["dog", "toy"]),
        ("用户喜欢编程", ["用户", "喜欢", "编程", "用户", "户喜", "喜欢", "欢编", "编程"]),
        ("我的猫", ["猫", "我的", "的猫"]),
        ("喜歡 Python", ["喜欢", "python", "喜欢"]),
        ("ＰＹＴＨＯＮ", ["python"]),
        ("3月5日", ["3", "月", "5", "日"]),
        ("ASR1605", ["asr1605", "asr", "1605"]),
        ("iPhone15pro", ["iphone15pro", "iphon", "15", "pro"]),
        ("5G", ["5g"]),
        ("Café", ["cafe"]),
        ("🐱叫咪咪", ["咪咪", "叫咪", "咪咪", "🐱"]),
    ],
)
def test_terms(text: str, terms: list[str]) -> None:
    assert bm25_terms(text) == terms


def test_a_term_has_a_length_that_an_index_takes() -> None:
    (term,) = bm25_terms("x" * 5_000)
    assert term == "x" * MAX_TERM_CHARACTERS


@pytest.mark.parametrize(
    ("query", "words", "parts", "literals"),
    [
        ("Pyth", ("pyth",), (), ()),
        ("Berlin  trip berlin", ("berlin", "trip"), (), ()),
        ("颜色", (), (("颜色", "顏色"),), ()),
        ("頭髮", (), (("頭髮", "头发"),), ()),
        ("用Python写代码", ("python",), (("用",), ("写代码", "寫代碼")), ()),
        ("“Berlin?”", ("berlin",), (), ()),
        ("Ｃ＋＋", ("c",), (), ("c++",)),
        ("don't", ("don", "t"), (), ()),
        ("Café Überall", ("cafe", "uberall"), (), ()),
        ("１００元 ｶﾞｷﾞ", ("100",), (("元",), ("ガギ",)), ()),
        ("Straße ❤️", ("strasse",), (), ("❤",)),
        ("???", (), (), ("???",)),
        ("🎉", (), (), ("🎉",)),
    ],
)
def test_a_search_is_taken_word_by_word(query: str, words: object, parts: object, literals: object) -> None:
    terms = parse_search(query)
    assert (terms.words, terms.parts, terms.literals) == (words, parts, literals)


def test_a_very_long_search_is_cut_to_its_first_words() -> None:
    assert len(parse_search(" ".join(f"word{number}" for number in range(100))).words) == 20


def test_of_a_question_the_keywords_count() -> None:
    assert parse_question("我喜欢的颜色是什么？").parts == (("喜欢", "喜歡"), ("颜色", "顏色"))
    assert parse_question("What is the name of my dentist?").words == ("name", "dentist")


def test_an_excerpt_begins_shortly_before_the_match_and_says_what_is_cut_off() -> None:
    text = "前" * 300 + "\n目标\n" + "后" * 300
    excerpt, ranges = cut_excerpt(text, ["目标"], length=100)
    assert len(excerpt) == 102
    assert (excerpt[0], excerpt[-1]) == ("…", "…")
    assert "\n" not in excerpt
    assert [excerpt[start:stop] for start, stop in ranges] == ["目标"]


def test_an_excerpt_of_a_short_text_is_all_of_it() -> None:
    assert cut_excerpt("  好的\n谢谢", ["谢谢"], length=100) == ("  好的 谢谢", [(5, 7)])
    assert cut_excerpt("好的", [], length=100) == ("好的", [])


DECOMPOSED = unicodedata.normalize("NFD", "café")


def marked(query: str, text: str) -> list[str]:
    return [text[start:stop] for start, stop in find_ranges(text, parse_search(query).needles)]


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
        ("蓝色", f"60㎏蓝色{DECOMPOSED}", ["蓝色"]),
        ("cafe", f"60㎏蓝色{DECOMPOSED}", [DECOMPOSED]),
        ("café", f"Das {DECOMPOSED}!", [DECOMPOSED]),
        ("cafe", "two cafés", ["cafés"]),
        ("60", "重60㎏。", ["60㎏"]),
        ("蓝色", "㍿½ßİ蓝色", ["蓝色"]),
        ("会社", "㍿山田", ["㍿"]),
        ("1/2", "½ cup", ["½"]),
        ("ガ", "ｶﾞｷﾞ蓝色", ["ｶﾞ"]),
        ("パナソニック", "新しいﾊﾟﾅｿﾆｯｸのテレビ", ["ﾊﾟﾅｿﾆｯｸ"]),
        ("strasse", "Die Straße", ["Straße"]),
        ("straße", "STRASSE", ["STRASSE"]),
        ("istanbul", "in İstanbul", ["İstanbul"]),
        ("蓝色", "🇩🇪👨\u200d👩\u200d👧蓝色🇫🇷", ["蓝色"]),
        ("🇫🇷", "🇩🇪👨\u200d👩\u200d👧蓝色🇫🇷", ["🇫🇷"]),
        ("👩", "a 👨\u200d👩\u200d👧 b", ["👨\u200d👩\u200d👧"]),
        ("👍", "ok 👍🏽!", ["👍🏽"]),
        ("❤️", "I ❤ it, ❤️!", ["❤", "❤️"]),
        ("乾隆", "ﾀｲ 乾隆年间", ["乾隆"]),
        ("한국", unicodedata.normalize("NFD", "한국 여행"), [unicodedata.normalize("NFD", "한국")]),
        ("pyth", "I like Python and pythons.", ["Python", "pythons"]),
        ("python", "He unpythoned it.", []),
        ("颜色", "我喜歡的顏色", ["顏色"]),
        ("abc", "ＡＢＣ and abc", ["ＡＢＣ", "abc"]),
        # A word begins after Chinese, and where digits do.
        ("NAS", "我的客厅NAS坏了", ["NAS"]),
        ("kubernetes", "用Kubernetes部署", ["Kubernetes"]),
        ("docker", "在NAS上用docker跑", ["docker"]),
        ("テレビ", "新しいテレビTV", ["テレビ"]),
        ("tv", "新しいテレビTV", ["TV"]),
        ("iphone", "iPhone15很好", ["iPhone"]),
        ("15", "iPhone15很好", ["15"]),
        ("1605", "ASR1605", ["1605"]),
        ("km", "跑了10km", ["km"]),
        ("cat", "education", []),
        ("nas", "Dynastie", []),
        ("15", "2015", []),
    ],
)
def test_what_is_marked_is_what_was_looked_for(query: str, text: str, found: list[str]) -> None:
    assert marked(query, text) == found


@pytest.mark.long
@given(st.text(), st.text(), st.integers(1, 40))
def test_ranges_are_in_the_text_and_apart(query: str, text: str, length: int) -> None:
    ranges = find_ranges(text, parse_search(query).needles)
    places = [place for span in ranges for place in span]
    assert places == sorted(set(places))
    assert all(0 <= place <= len(text) for place in places)
    excerpt, inside = cut_excerpt(text, parse_search(query).needles, length=length)
    assert all(0 <= start <= stop <= len(excerpt) for start, stop in inside)


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
