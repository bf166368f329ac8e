"""What a search looks for, and where it is marked."""

from __future__ import annotations

import pytest

from apps.core.text.search import cut_excerpt, find_ranges, parse_question, parse_search


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


def test_a_blank_search_looks_for_nothing() -> None:
    assert not parse_search("  ")


def test_a_very_long_search_is_cut_to_its_first_words() -> None:
    assert len(parse_search(" ".join(f"word{number}" for number in range(100))).words) == 20


def test_of_a_question_the_keywords_count() -> None:
    assert parse_question("我喜欢的颜色是什么？").parts == (("喜欢", "喜歡"), ("颜色", "顏色"))
    assert parse_question("What is the name of my dentist?").words == ("name", "dentist")


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("I like Python and pythons.", "pyth", ["Python", "pythons"]),
        ("He unpythoned it.", "python", []),
        ("我喜欢的颜色", "颜色", ["颜色"]),
        ("我喜歡的顏色", "颜色", ["顏色"]),
        ("ＡＢＣ and abc", "abc", ["ＡＢＣ", "abc"]),
        ("🎉🎉 party 🎉", "party", ["party"]),
        ("用 C++ 与 C 写", "c++", ["C++"]),
    ],
)
def test_ranges_are_counted_in_the_text_as_it_is(text: str, query: str, marked: list[str]) -> None:
    needles = [needle for needle in parse_search(query).needles if query != "c++" or needle == "c++"]
    assert [text[start:stop] for start, stop in find_ranges(text, needles)] == marked


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


def test_a_match_at_the_very_end_is_shown_with_what_is_before_it() -> None:
    excerpt, ranges = cut_excerpt("a" * 500 + " end", ["end"], length=100)
    assert excerpt.startswith("…aaa")
    assert [excerpt[start:stop] for start, stop in ranges] == ["end"]
    assert len(excerpt) == 101
