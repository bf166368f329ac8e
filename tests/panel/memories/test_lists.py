"""The lists of memories: what they show to whom, filters, search, order, pages, and what is new (M1, M5, M7)."""

from __future__ import annotations

import io
import json
import uuid
import zipfile
from datetime import datetime, timedelta
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
from apps.panel.memories import lists
from tests.panel.conftest import NOW, remember, toast
from tests.panel.memories.conftest import shown
from tests.support.factories import UserFactory

pytestmark = [pytest.mark.spec("M1"), pytest.mark.long_except("test_a_row_shows_everything_and_text_as_text")]

LIST = "/admin/memories/"


def keys(client: Client, **parameters: str) -> list[str]:
    return [memory.key for memory in shown(client.get(LIST, {"kind": "long_term", **parameters}))]


def test_a_row_shows_everything_and_text_as_text(client: Client, mei: User) -> None:
    remember(mei, "<b>城市</b>", {"home": "上海 {{ 7 }}"}, confidence=0.876, now=timezone.now() - timedelta(hours=3))
    page = client.get(LIST).content.decode()
    assert "&lt;b&gt;城市&lt;/b&gt;" in page
    assert "home：上海 {{ 7 }}" in page
    assert "--share: 0.88" in page
    assert "88%" in page
    assert "3\xa0hours ago" in page
    assert "never used" in page
    assert "<b>" not in page


def test_what_narrows_the_list_is_named_and_can_be_taken_away(client: Client, mei: User) -> None:
    remember(mei, "tea", category="preference")
    response = client.get(LIST, {"category": "preference", "q": "tea", "days": "30"})
    assert {(row["label"], row["url"]) for row in response.context["active"]} == {
        ("“tea”", "?category=preference&days=30"),
        ("preference", "?q=tea&days=30"),
        ("last 30 days", "?q=tea&category=preference"),
    }


@pytest.mark.spec("A6")
def test_what_the_assistant_said_is_marked_and_found_by_its_source(client: Client, mei: User) -> None:
    own = create_atomic_memory(user=mei, content="I live in York.", now=NOW)[0]
    told = create_atomic_memory(user=mei, content="The assistant named Menya.", now=NOW)[0]
    AtomicMemory.objects.filter(id=told.id).update(source="assistant")
    response = client.get(LIST, {"source": "assistant"})
    assert shown(response) == [told]
    assert '<span class="chip">assistant</span>' in response.content.decode()
    names = {group["name"]: [choice["name"] for choice in group["choices"]] for group in response.context["groups"]}
    assert names["source"] == ["user_stated", "assistant"]
    assert "category" not in names, "nothing has one"
    assert shown(client.get(LIST, {"source": "user_stated"})) == [own]
    address = f"/admin/memory/atomicmemory/{told.id}/merge/"
    assert client.get(address).context["rows"] == []
    assert client.post(address, {"with": own.pk}).status_code == 404, "what the person said is not merged with it"


def test_only_what_was_added_lately(client: Client, mei: User) -> None:
    remember(mei, "new", now=timezone.now() - timedelta(hours=2))
    remember(mei, "old", now=timezone.now() - timedelta(days=8))
    assert keys(client, days="7") == ["new"]
    assert keys(client, days="30") == ["new", "old"]


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
def test_lists_are_sorted_by_what_one_wants(client: Client, mei: User, sort: str, found: list[str]) -> None:
    for number, (key, confidence) in enumerate([("a", 0.1), ("b", 0.9), ("c", 0.5)]):
        remember(mei, key, confidence=confidence, now=NOW + timedelta(minutes=number))
    mine = LongTermMemory.objects.filter(user=mei)
    mine.filter(key="c").update(access_count=7, last_accessed=NOW + timedelta(days=2))
    mine.filter(key="a").update(
        access_count=2, last_accessed=NOW + timedelta(days=1), updated_at=NOW + timedelta(days=1)
    )
    assert keys(client, sort=sort) == found


@pytest.mark.spec("K3")
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
def test_search_finds_chinese_and_parts_and_marks_them(client: Client, mei: User, words: str, found: list[str]) -> None:
    remember(mei, "你喜欢的颜色", "蓝色")
    remember(mei, "language", ["Python", "Rust"])
    assert keys(client, q=words) == found
    if words == "顏色":
        assert '<mark class="found">颜色</mark>' in client.get(LIST, {"q": words}).content.decode()


def test_pages_keep_filters_and_reach_the_end(client: Client, mei: User) -> None:
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


def test_an_empty_list_says_what_to_do(client: Client, mei: User) -> None:
    assert "Start a conversation" in client.get(LIST).content.decode()
    remember(mei, "tea")
    assert "Try fewer filters" in client.get(LIST, {"q": "nothing"}).content.decode()


@pytest.mark.spec("M7")
def test_people_see_their_own_and_staff_everybodys(client: Client, mei: User) -> None:
    li = UserFactory.create(username="li")
    staff = UserFactory.create(username="tang", is_staff=True)
    remember(mei, "mine")
    remember(li, "theirs", now=NOW + timedelta(minutes=1))
    assert keys(client) == keys(client, user=str(li.pk)) == ["mine"]
    client.force_login(staff)
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


def test_news_tell_what_came_changed_and_went(client: Client, mei: User) -> None:
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


def test_long_values_are_cut_by_the_database(client: Client, mei: User) -> None:
    remember(mei, "essay", "茶" * 30_000)
    response = client.get(LIST)
    (row,) = response.context["page"].rows
    assert (row.is_cut, row.text) == (True, [(False, "茶" * 400)])
    assert "value" in row.memory.get_deferred_fields()
    assert Change.objects.count() == 1


def test_a_list_is_shown_as_chips_and_an_object_as_text(client: Client, mei: User) -> None:
    remember(mei, "likes", ["tea", "jam"])
    remember(mei, "many", [f"item {number}" for number in range(20)])
    remember(mei, "trip", {"to": "Rome", "with": ["Li"]})
    page = client.get(LIST, {"q": "tea"}).content.decode()
    assert '<span class="chip chip--item"><bdi><mark class="found">tea</mark></bdi></span>' in page
    assert page.count("chip--item") == 2
    everything = client.get(LIST).content.decode()
    assert "+8" in everything
    assert "to: Rome; with: (Li)" in everything
    assert "[&quot;" not in everything


# Both kinds


def learn(user: User, *texts: str, first: datetime = NOW) -> list[Any]:
    """One memory a minute, each "key: value" for a long-term one, else an atomic one."""
    memories = []
    for number, text in enumerate(texts):
        now = first + timedelta(minutes=number)
        key, _colon, value = text.partition(": ")
        if value:
            memories.append(create_memory(user=user, category="fact", key=key, value=value, now=now)[0])
        else:
            memories.append(create_atomic_memory(user=user, content=text, tags=["day"], now=now)[0])
    return memories


def name(memory: Any) -> str:
    return memory.key if isinstance(memory, LongTermMemory) else memory.shown


def names(client: Client, **parameters: str) -> list[str]:
    return [name(memory) for memory in shown(client.get(LIST, parameters))]


@pytest.mark.spec("M3")
def test_filters_leave_what_has_what_they_ask_for(client: Client, mei: User) -> None:
    learn(mei, "city: Berlin", "The user walked in Berlin.", "city: Hamburg")
    assert names(client, status="superseded") == ["city"]
    assert names(client, status="all") == ["city", "The user walked in Berlin.", "city"]
    assert names(client, category="fact") == ["city"]
    assert names(client, source="user_stated") == ["city", "The user walked in Berlin."]  # A6: both kinds have one
    assert names(client, tag="day") == ["The user walked in Berlin."]
    assert names(client, tag="day", category="fact") == []
    assert names(client, q="Berlin") == ["The user walked in Berlin."]
    assert names(client, q="Berlin", status="all") == ["The user walked in Berlin.", "city"]
    assert names(client, q="berli", status="all") == ["city"]  # a beginning of a word, which one index knows
    assert names(client, q="quantum") == []


@pytest.mark.spec("M3")
def test_the_kinds_are_filters_with_counts_that_keep_the_others(client: Client, mei: User) -> None:
    learn(mei, "city: Berlin", "The user walked.", "city: Hamburg", "The user ran.")

    def kinds(**parameters: str) -> list[tuple[str, str, int | None, bool]]:
        groups = client.get(LIST, parameters).context["groups"]
        kinds = next(group for group in groups if group["name"] == "kind")
        return [(choice["name"], choice["url"], choice["count"], choice["on"]) for choice in kinds["choices"]]

    assert kinds() == [
        ("long_term", "?kind=long_term", 1, False),
        ("atomic", "?kind=atomic", 2, False),
        ("all", "", 3, True),
    ]
    assert kinds(kind="long_term", status="all", category="fact") == [
        ("long_term", "?kind=long_term&status=all&category=fact", 2, True),
        ("atomic", "?kind=atomic&status=all", 2, False),
        ("all", "?status=all&category=fact", 2, False),
    ]
    assert [count for *_rest, count, _on in kinds(q="city")] == [None, None, None]
    groups = {group["name"]: group for group in client.get(LIST, {"status": "all"}).context["groups"]}
    counts = {choice["name"]: choice["count"] for choice in groups["status"]["choices"]}
    assert counts == {"active": 3, "superseded": 1, "all": 4}  # what there is none of is no choice
    assert {choice["name"]: choice["count"] for choice in groups["category"]["choices"]}["fact"] == 2


@pytest.mark.spec("M3")
def test_long_work_goes_on_from_one_kind_to_the_other(
    client: Client, mei: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories = learn(mei, "city: Berlin", "The user walked.", "pet: cat", "The user ran.")
    chosen = [str(memory.pk) for memory in memories[:3]]
    response = client.post(f"{LIST}bulk/", {"action": "category", "value": "pattern", "selected": chosen})
    assert toast(response)["text"] == "Category changed for 2 memories."
    monkeypatch.setattr(lists, "PORTION", 1)
    monkeypatch.setattr(lists, "SECONDS", -1.0)
    everything = {"all": "1", "until": (NOW + timedelta(days=1)).isoformat(), "action": "delete"}
    dialog = client.post(f"{LIST}bulk/", everything)
    assert "Delete 4 memories?" in dialog.content.decode()
    fields: dict[str, Any] = {**everything, "confirmed": "yes", "total": "4"}
    steps = 0
    while (response := client.post(f"{LIST}bulk/", fields)).status_code == 200:
        progress = response.context["progress"]
        fields |= {"done": progress.done, "after": progress.after, "stage": progress.stage}
        steps += 1
    assert steps > 3
    assert toast(response)["text"] == "4 memories were deleted."
    assert (LongTermMemory.objects.count(), AtomicMemory.objects.count()) == (0, 0)


@pytest.mark.spec("M3")
def test_an_export_has_a_file_for_each_kind_there_is(client: Client, mei: User) -> None:
    city, walk = learn(mei, "city: Berlin", "The user walked.")

    def export(*memories: Any) -> Any:
        return client.post(f"{LIST}bulk/", {"action": "export", "selected": [str(memory.pk) for memory in memories]})

    assert [row["key"] for row in json.loads(b"".join(export(city).streaming_content))] == ["city"]
    assert [row["content"] for row in json.loads(b"".join(export(walk).streaming_content))] == ["The user walked."]
    answer = export(city, walk)
    assert answer["Content-Type"] == "application/zip"
    assert ".zip" in answer["Content-Disposition"]
    archive = zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content)))
    kept = {entry: json.loads(archive.read(entry)) for entry in archive.namelist()}
    assert sorted(entry.rsplit("-", 3)[0] for entry in kept) == ["jiyi-atomic", "jiyi-long-term"]
    assert all(len(rows) == 1 for rows in kept.values())


@pytest.mark.spec("M3")
@pytest.mark.parametrize("kind", ["longtermmemory", "atomicmemory"])
def test_the_address_of_a_kind_leads_to_the_list_narrowed_to_it(client: Client, mei: User, kind: str) -> None:
    name = {"longtermmemory": "long_term", "atomicmemory": "atomic"}[kind]
    client.force_login(UserFactory.create(is_staff=True))
    answer = client.get(f"/admin/memory/{kind}/", {"user__id__exact": mei.pk, "status__exact": "all"})
    assert answer.url == f"{LIST}?kind={name}&status=all&user={mei.pk}"
    assert client.post(f"/admin/memory/{kind}/", {"action": "delete_selected"}).status_code == 405
