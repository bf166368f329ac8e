"""Which memories of a prompt carried weight; static/chat/weight.js is held to the same cases."""

from __future__ import annotations

from typing import Any

import pytest

from apps.chat.selectors import list_influential


def long_term(name: str, words: float, meaning: float) -> dict[str, Any]:
    # What says nothing about the message makes most of the score.
    return {"id": name, "kind": "long_term", "score": 0.9, "keyword_score": words, "semantic_score": meaning}


def atomic(name: str, score: float, meaning: float = 0.0) -> dict[str, Any]:
    figures = {"score": score, "keyword_score": 7.5, "semantic_score": meaning, "parts": {"words": score}}
    return {"id": name, "kind": "atomic", **figures}


CASES: list[tuple[str, list[dict[str, Any]], list[str]]] = [
    ("none", [], []),
    ("the best of few", [long_term("a", 0.9, 0.2), long_term("b", 0.0, 0.6), long_term("c", 0.1, 0.3)], ["a", "b"]),
    ("words or meaning", [long_term("a", 0.0, 0.8), long_term("b", 0.6, 0.0), long_term("c", 0.3, 0.3)], ["a", "b"]),
    ("alone", [long_term("a", 0.0, 0.1)], ["a"]),
    ("far less than an atomic one", [long_term("a", 0.1, 0.15), atomic("b", 8.0, 0.7)], ["b"]),
    ("beside an atomic one", [long_term("a", 0.1, 0.3), atomic("b", 8.0, 0.7)], ["a", "b"]),
    ("atomic ones by their score", [atomic("a", 9.0, 0.4), atomic("b", 6.0, 0.1), atomic("c", 4.4, 0.5)], ["a", "b"]),
    ("below zero", [atomic("a", -1.0), atomic("b", -1.3), atomic("c", -3.0)], ["a", "b"]),
    ("without figures", [long_term("a", 0.0, 0.0), long_term("b", 0.0, 0.0), atomic("c", 0.0)], ["a", "b", "c"]),
]


@pytest.mark.parametrize(("used", "weighty"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_what_speaks_for_a_memory_is_compared_with_the_best(used: list[dict[str, Any]], weighty: list[str]) -> None:
    assert [item["id"] for item in list_influential(used)] == weighty


def test_what_a_tool_found_has_no_figures_and_is_left_out() -> None:
    found = {"id": "b", "kind": "long_term", "by": "tool"}
    assert list_influential([long_term("a", 0.5, 0.5), found]) == [long_term("a", 0.5, 0.5)]
