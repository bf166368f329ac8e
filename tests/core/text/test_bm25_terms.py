"""The terms by which BM25 compares a query with memories, in Chinese and English."""

from __future__ import annotations

import pytest

from apps.core.text.search import MAX_TERM_CHARACTERS, bm25_terms


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


@pytest.mark.parametrize(
    ("one", "other"),
    [("I moved to Berlin", "moving to BERLIN"), ("她在學習鋼琴", "她在学习钢琴"), ("我养的狗", "你养的狗")],
)
def test_two_ways_of_saying_it_share_their_terms(one: str, other: str) -> None:
    shared = set(bm25_terms(one)) & set(bm25_terms(other))
    assert shared
    assert shared >= set(bm25_terms(other)) - {"你养"}


def test_a_term_has_a_length_that_an_index_takes() -> None:
    (term,) = bm25_terms("x" * 5_000)
    assert term == "x" * MAX_TERM_CHARACTERS
