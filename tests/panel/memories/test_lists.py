"""The lists of memories: what they show to whom, filters, search, order, pages, and what is new (M1, M5, M7)."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.memory.deletion import delete_memories
from apps.memory.entries import create_memory
from apps.memory.kinds import LONG_TERM
from apps.memory.lifecycle import create_atomic_memory, update_memory
from apps.memory.models import AtomicMemory, Change, LongTermMemory
from tests.panel.memories.conftest import shown
from tests.support.factories import UserFactory

pytestmark = pytest.mark.long_except(
    "test_a_row_shows_everything_and_text_as_text",
    "test_people_see_their_own_and_staff_everybodys",
)

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
LIST = "/admin/memories/"

LogIn = Callable[[User], Client]


def remember(user: User, key: str, value: Any = "value", category: str = "fact", now: Any = NOW, **fields: Any) -> Any:
    return create_memory(user=user, category=category, key=key, value=value, now=now, **fields)[0]


def keys(client: Client, **parameters: str) -> list[str]:
    return [memory.key for memory in shown(client.get(LIST, {"kind": "long_term", **parameters}))]


@pytest.mark.spec("M1")
def test_a_row_shows_everything_and_text_as_text(log_in: LogIn, mei: User) -> None:
    client = log_in(mei)
    remember(mei, "<b>城市</b>", {"home": "上海 {{ 7 }}"}, confidence=0.876, now=timezone.now() - timedelta(hours=3))
    page = client.get(LIST).content.decode()
    assert "&lt;b&gt;城市&lt;/b&gt;" in page
    assert "home：上海 {{ 7 }}" in page
    assert "--share: 0.88" in page
    assert "88%" in page
    assert "3\xa0hours ago" in page
    assert "never used" in page
    assert "<b>" not in page


@pytest.mark.spec("M1")
def test_choices_narrow_the_list_and_are_counted(log_in: LogIn, mei: User) -> None:
    client = log_in(mei)
    remember(mei, "old city", "Berlin")
    remember(mei, "old city", "Paris", source="inferred", now=NOW + timedelta(minutes=1))
    remember(mei, "tea", category="preference", now=NOW + timedelta(minutes=2))
    assert keys(client) == ["tea", "old city"]
    assert keys(client, category="preference") == ["tea"]
    assert keys(client, source="inferred") == ["old city"]
    assert keys(client, status="superseded") == ["old city"]
    assert len(keys(client, status="all")) == 3
    assert keys(client, category="mood", status="gone", sort="nothing", page="x") == ["tea", "old city"]
    groups = {group["name"]: group["choices"] for group in client.get(LIST, {"status": "all"}).context["groups"]}
    counts = {choice["name"]: choice["count"] for choice in groups["category"]}
    assert counts == {"preference": 1, "fact": 2, "pattern": 0}
    counts = {choice["name"]: choice["count"] for choice in groups["status"]}
    assert counts == {"active": 2, "pending": 0, "rejected": 0, "superseded": 1, "evicted": 0, "all": 3}


@pytest.mark.spec("M1")
def test_what_narrows_the_list_is_named_and_can_be_taken_away(log_in: LogIn, mei: User) -> None:
    client = log_in(mei)
    remember(mei, "tea", category="preference")
    response = client.get(LIST, {"category": "preference", "q": "tea", "days": "30"})
    assert {(row["label"], row["url"]) for row in response.context["active"]} == {
        ("“tea”", "?category=preference&days=30"),
        ("preference", "?q=tea&days=30"),
        ("last 30 days", "?q=tea&category=preference"),
    }


@pytest.mark.spec("M1")
def test_only_what_was_added_lately(log_in: LogIn, mei: User) -> None:
    client = log_in(mei)
    remember(mei, "new", now=timezone.now() - timedelta(hours=2))
    remember(mei, "old", now=timezone.now() - timedelta(days=8))
    assert keys(client, days="7") == ["new"]
    assert keys(client, days="30") == ["new", "old"]


@pytest.mark.spec("M1")
@pytest.mark.parametrize(
    ("sort", "found"),
    [
        ("-created", ["c", "b", "a"]),
        ("created", ["a", "b", "c"]),
        ("key", ["a", "b", "c"]),
        ("-confidence", ["b", "c", "a"]),
        ("-uses", ["c", "a", "b"]),
        ("-used", ["c", "a", "b"]),
        ("-updated", ["a", "c", "b"]),
    ],
)
def test_lists_are_sorted_by_what_one_wants(log_in: LogIn, mei: User, sort: str, found: list[str]) -> None:
    client = log_in(mei)
    for number, (key, confidence) in enumerate([("a", 0.1), ("b", 0.9), ("c", 0.5)]):
        remember(mei, key, confidence=confidence, now=NOW + timedelta(minutes=number))
    mine = LongTermMemory.objects.filter(user=mei)
    mine.filter(key="c").update(access_count=7, last_accessed=NOW + timedelta(days=2))
    mine.filter(key="a").update(
        access_count=2, last_accessed=NOW + timedelta(days=1), updated_at=NOW + timedelta(days=1)
    )
    assert keys(client, sort=sort) == found


@pytest.mark.spec("M1", "K3")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("颜色", ["你喜欢的颜色"]),
        ("顏色", ["你喜欢的颜色"]),
        ("蓝", ["你喜欢的颜色"]),
        ("pyth", ["language"]),
        ("yth", ["language"]),
        ("quantum", []),
    ],
)
def test_search_finds_chinese_and_parts_and_marks_them(log_in: LogIn, mei: User, words: str, found: list[str]) -> None:
    client = log_in(mei)
    remember(mei, "你喜欢的颜色", "蓝色")
    remember(mei, "language", ["Python", "Rust"])
    assert keys(client, q=words) == found
    if words == "顏色":
        assert '<mark class="found">颜色</mark>' in client.get(LIST, {"q": words}).content.decode()


@pytest.mark.long
@pytest.mark.spec("M1")
def test_pages_keep_filters_and_reach_the_end(log_in: LogIn, mei: User) -> None:
    client = log_in(mei)
    for number in range(120):
        remember(mei, f"key {number:03}", category="pattern", now=NOW + timedelta(seconds=number))
    response = client.get(LIST, {"kind": "long_term", "category": "pattern", "sort": "key", "page": "2"})
    assert [memory.key for memory in shown(response)] == [f"key {number:03}" for number in range(50, 100)]
    assert [link["url"] for link in response.context["links"]] == [
        "?kind=long_term&category=pattern&sort=key",
        "?kind=long_term&category=pattern&sort=key&page=2",
        "?kind=long_term&category=pattern&sort=key&page=3",
    ]
    assert len(keys(client, category="pattern", page="3")) == 20
    assert len(keys(client, category="pattern", page="999999999999999999")) == 20


@pytest.mark.spec("M1")
def test_an_empty_list_says_what_to_do(log_in: LogIn, mei: User) -> None:
    client = log_in(mei)
    assert "Start a conversation" in client.get(LIST).content.decode()
    remember(mei, "tea")
    assert "Try fewer filters" in client.get(LIST, {"q": "nothing"}).content.decode()


@pytest.mark.spec("M5")
def test_atomic_memories_are_listed_with_tags_and_times(log_in: LogIn, mei: User) -> None:
    client = log_in(mei)
    create_atomic_memory(
        user=mei, content="用户和妹妹爬了香山。", tags=["家人", "山"], now=NOW, event_start=NOW, event_end=NOW
    )
    create_atomic_memory(user=mei, content="The user adopted a cat.", tags=["cat"], now=NOW + timedelta(days=1))

    def contents(**parameters: str) -> list[str]:
        return [memory.shown for memory in shown(client.get(LIST, {"kind": "atomic", **parameters}))]

    assert contents() == ["The user adopted a cat.", "用户和妹妹爬了香山。"]
    assert contents(tag="家人") == ["用户和妹妹爬了香山。"]
    assert contents(q="香山") == ["用户和妹妹爬了香山。"]
    assert contents(sort="-happened") == ["用户和妹妹爬了香山。", "The user adopted a cat."]
    assert "Nov. 20, 2026" in client.get(LIST).content.decode()


@pytest.mark.long
@pytest.mark.spec("M7")
def test_people_see_their_own_and_staff_everybodys(log_in: LogIn, mei: User) -> None:
    li = UserFactory.create(username="li")
    staff = UserFactory.create(username="tang", is_staff=True)
    remember(mei, "mine")
    remember(li, "theirs", now=NOW + timedelta(minutes=1))
    client = log_in(mei)
    assert keys(client) == keys(client, user=str(li.pk)) == ["mine"]
    client = log_in(staff)
    assert keys(client) == ["theirs", "mine"]
    assert keys(client, user=str(mei.pk)) == ["mine"]
    named = client.get(LIST, {"person": "mei", "status": "all"})
    assert (named.status_code, named.url) == (302, f"{LIST}?status=all&user={mei.pk}")
    assert shown(client.get(client.get(LIST, {"person": "nobody"}).url)) == []
    assert "Delete all" not in client.get(LIST).content.decode()
    assert "Delete all memories of mei" in client.get(LIST, {"user": mei.pk}).content.decode()


# News


def read_news(client: Client, after: int, **parameters: str) -> tuple[list[str], list[uuid.UUID], int]:
    response = client.get(f"{LIST}news/", {"kind": "long_term", "after": str(after), **parameters})
    assert response.status_code == 200
    return [row.memory.key for row in response.context["rows"]], response.context["gone"], response.context["cursor"]


@pytest.mark.spec("M1")
def test_news_tell_what_came_changed_and_went(log_in: LogIn, mei: User) -> None:
    client = log_in(mei)
    tea, city = remember(mei, "tea"), remember(mei, "city", "Berlin")
    cursor = client.get(LIST).context["cursor"]
    assert read_news(client, cursor) == ([], [], cursor)
    remember(mei, "cat", now=NOW + timedelta(minutes=1))
    update_memory(LONG_TERM, user=mei, memory_id=tea.id, changes={"value": "green"}, now=NOW)
    remember(mei, "city", "Paris", now=NOW + timedelta(minutes=2))
    found, gone, later = read_news(client, cursor)
    assert found == ["city", "cat", "tea"]
    assert gone == [city.id]
    assert read_news(client, later) == ([], [], later)
    delete_memories(LONG_TERM, user=mei, ids=[tea.id], now=NOW)
    assert read_news(client, later)[:2] == ([], [tea.id])
    assert read_news(client, cursor, q="cat")[0] == ["cat"]


# Size


def fill(user: User, count: int) -> None:
    long_term = [
        LongTermMemory(
            user=user, category="fact", key=f"key {number}", value=f"tea {number}", created_at=NOW, updated_at=NOW,
            last_accessed=NOW, normalized_key=f"key {number}", normalized_value=f"tea {number}", search_vector="'tea'",
            words=["tea"],
        )
        for number in range(count)
    ]  # fmt: skip
    LongTermMemory.objects.bulk_create(long_term, batch_size=1_000)
    atomic = [
        AtomicMemory(
            user=user, content=f"tea {number}", normalized_content=f"tea {number}", terms=["tea", str(number)],
            term_count=2,
        )
        for number in range(count)
    ]  # fmt: skip
    AtomicMemory.objects.bulk_create(atomic, batch_size=1_000)


@pytest.mark.long
@pytest.mark.spec("M1")
def test_long_values_are_cut_by_the_database(log_in: LogIn, mei: User) -> None:
    remember(mei, "essay", "茶" * 30_000)
    response = log_in(mei).get(LIST)
    (row,) = response.context["page"].rows
    assert (row.is_cut, row.text) == (True, [(False, "茶" * 400)])
    assert "value" in row.memory.get_deferred_fields()
    assert Change.objects.count() == 1


def test_a_list_is_shown_as_chips_and_an_object_as_text(log_in: LogIn, mei: User) -> None:
    remember(mei, "likes", ["tea", "jam"])
    remember(mei, "many", [f"item {number}" for number in range(20)])
    remember(mei, "trip", {"to": "Rome", "with": ["Li"]})
    client = log_in(mei)
    page = client.get(LIST, {"q": "tea"}).content.decode()
    assert '<span class="chip chip--item"><bdi><mark class="found">tea</mark></bdi></span>' in page
    assert page.count("chip--item") == 2
    everything = client.get(LIST).content.decode()
    assert "+8" in everything
    assert "to: Rome; with: (Li)" in everything
    assert "[&quot;" not in everything
