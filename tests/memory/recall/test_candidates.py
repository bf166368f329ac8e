"""Recall from a real PostgreSQL: both arms, statistics, isolation, hostile input (K3, K4, K6)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.core.db import fetch_rows
from apps.memory.models import LongTermMemory
from apps.memory.recall import columns as nearest
from apps.memory.recall.long_term import recall_candidates
from apps.memory.types import Recall
from tests.memory.recall.conftest import NOW, Remember, break_full_text

pytestmark = [pytest.mark.django_db, pytest.mark.spec("K3", "K4")]


def recall(user: User, *keywords: str, **options: Any) -> Recall:
    return recall_candidates(user, keywords=keywords, **{"candidate_limit": 50, **options})


def keys(found: Recall) -> set[str]:
    return {candidate.key for candidate in found.candidates}


def break_nothing() -> None:
    """The full-text arm stays."""


BOTH_ARMS = pytest.mark.parametrize("prepare", [break_nothing, break_full_text])

FINDABLE = [
    ("颜色", "你喜欢的颜色", "蓝色"),
    ("颜色", "喜歡的顏色", "藍色"),
    ("蓝色", "喜歡的顏色", "藍色"),
    ("pyth", "编程语言", "Python"),
    ("thon", "编程语言", "Python"),
    ("编程", "编程语言偏好", "Python"),
    ("编程语言", "喜欢编程", "是"),
    ("running", "sport", "I run"),
    ("猫", "喜欢的动物", "熊猫"),
    ("海淀", "住址", {"城市": ["北京", "海淀区"]}),
    ("c++", "language", "C++"),
    ("o'brien", "name", "Pat O'Brien"),
    ("100%", "proof", "100% cotton"),
]


@BOTH_ARMS
@pytest.mark.parametrize(("keyword", "key", "value"), FINDABLE)
def test_finds(user: User, remember: Remember, keyword: str, key: str, value: Any, prepare: Any) -> None:
    memory = remember(key, value)
    remember("unrelated", "nothing")
    prepare()
    found = recall(user, keyword)
    assert [candidate.id for candidate in found.candidates] == [memory.id]
    assert (found.statistics is None) is (prepare is break_full_text)


@pytest.mark.long
def test_the_fallback_fills_its_places_by_preference_then_number_of_keywords(user: User, remember: Remember) -> None:
    remember("颜色一", "红", last_accessed=NOW)
    remember("颜色二", "深 蓝色", last_accessed=NOW - timedelta(days=9))
    remember("颜色三", "绿", category="preference", last_accessed=NOW - timedelta(days=20))
    break_full_text()
    assert keys(recall(user, "颜色", "蓝色", candidate_limit=1)) == {"颜色二"}
    assert keys(recall(user, "颜色", "蓝色", candidate_limit=1, preferences_first=True)) == {"颜色三"}


def test_a_failed_statement_leaves_the_transaction_usable(user: User, remember: Remember) -> None:
    remember("颜色", "蓝色")
    break_full_text()
    with transaction.atomic():
        assert keys(recall(user, "颜色")) == {"颜色"}
        assert User.objects.count() == 1


def test_one_round_trip(user: User, remember: Remember) -> None:
    remember("颜色", "蓝色")
    with CaptureQueriesContext(connection) as captured:
        assert keys(recall(user, "颜色", "python")) == {"颜色"}
    # The savepoint is there because a test runs in a transaction; a turn reads outside of one.
    statements = [query["sql"].split()[0] for query in captured.captured_queries]
    assert statements == ["SAVEPOINT", "WITH", "RELEASE"]
    with CaptureQueriesContext(connection) as captured:
        assert recall(user) == Recall()
    assert len(captured) == 0


@pytest.mark.long
def test_statistics_count_the_users_active_memories(user: User, remember: Remember) -> None:
    other = User.objects.create(username="other")
    remember("喜欢的颜色", "蓝色")
    remember("喜欢的菜", "豆腐")
    remember("language", "Python, Pythonic")
    remember("颜色", "旧的", status="superseded")
    remember("颜色", "别人的", owner=other)
    found = recall(user, "喜欢", "颜色", "pyth", "没有")
    assert found.statistics.memory_count == 3
    assert found.statistics.document_frequencies == {"喜欢": 2, "颜色": 1, "pyth": 1, "没有": 0}


@pytest.mark.long
def test_statistics_include_what_only_the_substring_arm_finds(user: User, remember: Remember) -> None:
    remember("language", "Python")
    remember("other", "Cython")
    found = recall(user, "thon", "pyth")
    assert found.statistics.document_frequencies == {"thon": 1, "pyth": 1}
    assert keys(found) == {"language", "other"}


@pytest.mark.long
def test_the_substring_arm_is_asked_only_while_places_are_free(user: User, remember: Remember) -> None:
    remember("first", "thonburi")
    remember("second", "thonet")
    remember("third", "python")
    assert keys(recall(user, "thon", candidate_limit=2)) == {"first", "second"}
    assert keys(recall(user, "thon", candidate_limit=3)) == {"first", "second", "third"}


def test_places_go_to_rare_keywords_first(user: User, remember: Remember) -> None:
    for number in range(5):
        remember(f"工作 {number}", "会议")
    remember("工作的咖啡", "拿铁", last_accessed=NOW - timedelta(days=400))
    remember("咖啡", "美式", last_accessed=NOW - timedelta(days=400))
    assert keys(recall(user, "工作", "咖啡", candidate_limit=1)) == {"工作的咖啡"}
    assert keys(recall(user, "工作", "咖啡", candidate_limit=2)) == {"工作的咖啡", "咖啡"}


@pytest.mark.long
def test_what_is_deleted_between_the_two_statements_takes_nothing_else_along(
    user: User, remember: Remember, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nearest, "EXACT_SCAN_LIMIT", 2)
    first, *_others = [remember(f"颜色 {number}", "蓝色") for number in range(3)]

    def delete_and_fetch(*arguments: Any) -> Any:
        LongTermMemory.objects.filter(id=first.id).delete()
        return fetch_rows(*arguments)

    monkeypatch.setattr(nearest, "fetch_rows", delete_and_fetch)
    found = recall(user, "颜色")
    assert keys(found) == {"颜色 1", "颜色 2"}
    assert found.statistics.memory_count == 2


@BOTH_ARMS
def test_only_active_memories_of_the_user(user: User, remember: Remember, prepare: Any) -> None:
    other = User.objects.create(username="other")
    for status in ("pending", "rejected", "superseded", "evicted"):
        remember("颜色", "不再", status=status)
    remember("颜色", "别人的", owner=other)
    mine = remember("喜欢的颜色", "蓝色")
    prepare()
    assert [candidate.id for candidate in recall(user, "颜色", "olor").candidates] == [mine.id]


HOSTILE = [
    *(
        "%",
        "_",
        "%%",
        "\\",
        "'",
        "''",
        '"',
        ":*",
        "a:*|!b",
        "' | 'x",
        "'); DROP TABLE long_term_memory; --",
        "\\'",
        "$1",
    ),
    *("%s", "%(user)s", "{}", "&", "!", "()", "😀", "\t", "a" * 32_000, "长" * 32_000, "\\%", "ﷺ", "\u202e"),
]


@pytest.mark.long
@BOTH_ARMS
@pytest.mark.parametrize("keyword", HOSTILE, ids=lambda keyword: repr(keyword[:20]))
def test_hostile_keywords_are_text(user: User, remember: Remember, keyword: str, prepare: Any) -> None:
    remember("plain", "nothing odd")
    remember("颜色", "蓝色")
    prepare()
    assert recall(user, keyword).candidates == ()
    assert keys(recall(user, keyword, "颜色")) == {"颜色"}
    assert LongTermMemory.objects.defer("search_vector").count() == 2


@pytest.mark.long
def test_a_value_of_any_size_and_shape_comes_back(user: User, remember: Remember) -> None:
    values: Sequence[Any] = ["长" * 32_000, "w" * 32_000, {"a": [1, 2.5, None, {"b": "猫"}]}, [], 3, True, "'\\ %_"]
    for number, value in enumerate(values):
        remember(f"marker {number}", value)
    found = {candidate.key: candidate.value for candidate in recall(user, "marker").candidates}
    assert found == {f"marker {number}": value for number, value in enumerate(values)}


def test_every_field_is_read(user: User, remember: Remember) -> None:
    memory = remember("颜色", "蓝色", category="preference", confidence=0.6, source="inferred", access_count=4)
    [candidate] = recall(user, "颜色").candidates
    for name in candidate.__dataclass_fields__:
        assert getattr(candidate, name) == getattr(memory, name), name
