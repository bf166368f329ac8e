"""Where the words of a search are in a text: places of the text as it is stored."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.text.search import cut_excerpt, find_ranges, parse_search

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
    ],
)
def test_what_is_marked_is_what_was_looked_for(query: str, text: str, found: list[str]) -> None:
    assert marked(query, text) == found


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
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
def test_a_word_begins_after_chinese_and_where_digits_do(query: str, text: str, found: list[str]) -> None:
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
