"""A turn keeps references and figures of its tool calls; what was searched for only in words of its message (L6)."""

from __future__ import annotations

from typing import Any

import pytest

from apps.chat.turn.tool_use.record import list_found, list_recalled, record_runs
from apps.chat.turn.tool_use.running import Outcome, ToolRun

FOUND = [{"id": "a", "kind": "long_term", "text": "allergy: shrimp"}, {"id": "b", "kind": "atomic", "text": "Shrimp!"}]


def search(keyword: Any, outcome: Outcome = Outcome.OK, **arguments: Any) -> ToolRun:
    given = {"keyword": keyword, **arguments}
    return ToolRun("search_memories", outcome, arguments=given, result={"results": FOUND}, ms=1.5)


def record(run: ToolRun, message: str = "What may I not eat? 我对什么过敏") -> dict[str, Any]:
    (kept,) = record_runs([run], message=message)
    return kept


@pytest.mark.parametrize(
    ("keyword", "kept"),
    [
        ("eat", "eat"),
        ("EAT 过敏", "EAT 过敏"),
        ("过敏?!", "过敏"),
        ("eat shrimp", None),
        ("对虾过敏", None),
        ("ea", None),
        ("🦐", None),
        ("", None),
        (7, None),
    ],
)
@pytest.mark.spec("L6")
def test_a_keyword_is_kept_if_the_message_says_all_of_it(keyword: Any, kept: str | None):
    assert record(search(keyword))["keyword"] == kept
    assert record(search(keyword), message="")["keyword"] is None


def test_no_remembered_text_is_kept():
    kept = record(search("eat", time_range={"since": "2026-01-01"}))
    assert kept == {
        "name": "search_memories",
        "outcome": "ok",
        "keyword": "eat",
        "since": "2026-01-01",
        "until": None,
        "memories": [{"id": "a", "kind": "long_term"}, {"id": "b", "kind": "atomic"}],
        "context_id": None,
        "left_out": 0,
        "ms": 1.5,
    }


def test_what_is_no_date_is_not_kept():
    run = search("eat", Outcome.INVALID, time_range={"since": "she is allergic to shrimp"})
    assert record(run)["since"] is None
    assert record(search("eat", time_range="shrimp"))["since"] is None


def test_each_memory_counts_as_used_once():
    runs = [search("x"), search("y")]
    found = list_found(runs, recalled=["a"])
    assert [item["id"] for item in found] == ["b"]
    assert list_recalled([{"id": "a", "score": 1.0}, *found]) == [{"id": "a", "score": 1.0}]
