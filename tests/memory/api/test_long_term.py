"""REST of long-term memories, as a client sees it; and what is refused of both kinds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.conversations.models import Session
from apps.memory.lifecycle import create_atomic_memory, record_use
from apps.memory.models import LongTermMemory
from apps.memory.working import count_turn, record_form, update_working_memory
from tests.support.entries import propose
from tests.support.factories import LongTermMemoryFactory

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
MEMORIES, ATOMIC = "/memory/long-term", "/memory/atomic"


def remember(user: User, key: str, value: Any, *, now: datetime = NOW, **fields: Any) -> LongTermMemory:
    return LongTermMemoryFactory(user=user, key=key, value=value, now=now, **fields)


def listed(client: APIClient, **query: Any) -> list[Any]:
    """Return the keys of the listed memories, in order."""
    response = client.get(MEMORIES, query)
    assert response.status_code == 200, response.json()
    return [memory["key"] for memory in response.json()["results"]]


def error_fields(response: Any, *, status: int = 400, code: str = "invalid") -> set[str]:
    body = response.json()
    assert response.status_code == status, body
    assert set(body) == {"error"}
    assert set(body["error"]) == {"code", "message", "fields"}
    assert body["error"]["code"] == code
    assert body["error"]["message"]
    return set(body["error"]["fields"])


# Creating


@pytest.mark.spec("L1", "L3")
def test_a_new_memory_is_201_the_same_200_another_value_201(client: APIClient, user: User) -> None:
    first = client.post(MEMORIES, {"category": "preference", "key": "喜欢的颜色", "value": "蓝色"})
    assert first.status_code == 201
    memory = first.json()
    assert (memory["category"], memory["key"], memory["value"]) == ("preference", "喜欢的颜色", "蓝色")
    assert (memory["confidence"], memory["source"], memory["status"]) == (1.0, "user_stated", "active")
    assert memory["created_at"] == memory["updated_at"] == memory["last_accessed"]
    assert datetime.fromisoformat(memory["created_at"]).utcoffset() == timedelta(0)

    again = client.post(MEMORIES, {"category": "fact", "key": "我喜歡的顏色", "value": "藍色！", "confidence": 0.2})
    assert (again.status_code, again.json()["id"], again.json()["confidence"]) == (200, memory["id"], 1.0)

    other = client.post(MEMORIES, {"category": "preference", "key": "喜欢的颜色", "value": "绿色"})
    assert (other.status_code, other.json()["value"]) == (201, "绿色")
    old = client.get(f"{MEMORIES}/{memory['id']}").json()
    assert (old["status"], old["superseded_by"]) == ("superseded", other.json()["id"])


GOOD = {"category": "fact", "key": "city", "value": "Berlin"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"value": None}, "value"),
        ({"confidence": int("9" * 400)}, "confidence"),
        ({"session_id": "nowhere"}, "session_id"),
        ({"status": "pending"}, "status"),
    ],
)
def test_a_bad_field_is_named_and_changes_nothing(client: APIClient, change: dict[str, Any], field: str) -> None:
    memory_id = client.post(MEMORIES, GOOD).json()["id"]
    before = client.get(f"{MEMORIES}/{memory_id}").json()
    assert error_fields(client.post(MEMORIES, GOOD | change)) == {field}
    assert error_fields(client.patch(f"{MEMORIES}/{memory_id}", change)) == {field}
    if field != "status":  # PUT takes back what GET answered
        ignored = field == "session_id"
        response = client.put(f"{MEMORIES}/{memory_id}", GOOD | change)
        assert response.status_code == 200 if ignored else error_fields(response) == {field}
    after = client.get(f"{MEMORIES}/{memory_id}").json()
    assert after | {"updated_at": None} == before | {"updated_at": None}
    assert LongTermMemory.objects.count() == 1


# Listing


@pytest.mark.spec("L1")
def test_the_list_is_newest_first_paged_and_active(client: APIClient, user: User) -> None:
    for number in range(5):
        remember(user, f"k{number}", "v", now=NOW + timedelta(minutes=number))
    propose(user, "pending", "v")
    page = client.get(MEMORIES, {"limit": 2, "offset": 1}).json()
    assert page["count"] == 5
    assert [memory["key"] for memory in page["results"]] == ["k3", "k2"]
    assert "offset=3" in page["next"]
    assert page["previous"] is not None


@pytest.mark.long
@pytest.mark.spec("L1")
def test_filters(client: APIClient, user: User) -> None:
    remember(user, "a", "v", category="fact", source="inferred")
    remember(user, "b", "old", category="pattern")
    remember(user, "b", "new", category="pattern")
    propose(user, "c", "v")
    assert listed(client, category="fact") == ["a"]
    assert listed(client, source="inferred") == ["a"]
    assert listed(client, source="user_stated", category="pattern") == ["b"]
    assert listed(client, status="pending") == ["c"]
    assert sorted(listed(client, status="pending,active")) == ["a", "b", "c"]
    assert sorted(listed(client, status="all")) == ["a", "b", "b", "c"]
    assert listed(client, status="superseded,rejected") == ["b"]
    assert listed(client, status="") == listed(client)


@pytest.mark.long
@pytest.mark.spec("L1", "K3")
@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("颜色", ["你喜欢的颜色"]),
        ("顏色", ["你喜欢的颜色"]),
        ("喜欢 蓝色", ["你喜欢的颜色"]),
        ("喜欢 红色", []),
        ("Pyth", ["language"]),
        ("yth", ["language"]),
        ("PYTHON", ["language"]),
        ("50%", ["share"]),
        ("%", ["share"]),
        ("_", []),
        ("'; --", []),
        ("\\", []),
        (" ", ["你喜欢的颜色", "language", "share"]),
    ],
)
def test_search_in_the_list(client: APIClient, user: User, search: str, found: list[str]) -> None:
    for minutes, (key, value) in enumerate(
        [("share", "50% of it"), ("language", ["Python", "Rust"]), ("你喜欢的颜色", "蓝色")]
    ):
        remember(user, key, value, now=NOW + timedelta(minutes=minutes))
    assert listed(client, search=search) == found


@pytest.mark.long
@pytest.mark.spec("L1")
def test_orderings(client: APIClient, user: User) -> None:
    one = remember(user, "b", "v", confidence=0.5)
    two = remember(user, "a", "v", confidence=0.9, now=NOW + timedelta(minutes=1))
    record_use(user=user, memory_ids=[one.id], now=NOW + timedelta(hours=1))
    assert listed(client, ordering="key") == ["a", "b"]
    assert listed(client, ordering="-key") == ["b", "a"]
    assert listed(client, ordering="confidence") == ["b", "a"]
    assert listed(client, ordering="created_at") == ["b", "a"]
    assert listed(client, ordering="-updated_at") == ["a", "b"]
    assert listed(client, ordering="-last_accessed") == ["b", "a"]
    assert listed(client, ordering="-access_count") == ["b", "a"]
    assert [memory["id"] for memory in client.get(MEMORIES).json()["results"]] == [str(two.id), str(one.id)]


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        (MEMORIES, {"category": "opinion"}, "category"),
        (ATOMIC, {"since": "9999-12-31T23:59:59Z"}, "since"),
        (MEMORIES, {"source": "x"}, "source"),
        (MEMORIES, {"status": "x"}, "status"),
        (MEMORIES, {"status": "active,all"}, "status"),
        (MEMORIES, {"ordering": "value"}, "ordering"),
        (MEMORIES, {"limit": "201"}, "limit"),
        (MEMORIES, {"offset": "-1"}, "offset"),
        (ATOMIC, {"status": "gone"}, "status"),
        (ATOMIC, {"since": "yesterday"}, "since"),
        (ATOMIC, {"until": "2026-13-01T00:00:00Z"}, "until"),
        (ATOMIC, {"session_id": "x"}, "session_id"),
        (ATOMIC, {"ordering": "content"}, "ordering"),
        *(
            (path, {name: value}, name)
            for path, name in ((MEMORIES, "category"), (MEMORIES, "status"), (ATOMIC, "status"), (ATOMIC, "since"))
            for value in ("%(status)s", "active,%d", "active\0")
        ),
    ],
)
def test_unknown_query_values_are_refused(client: APIClient, path: str, query: dict[str, str], field: str) -> None:
    assert error_fields(client.get(path, query)) == {field}


@pytest.mark.long
@pytest.mark.parametrize("rows", [5, 50])
def test_the_number_of_queries_does_not_depend_on_the_number_of_rows(
    client: APIClient, user: User, session: Session, rows: int, django_assert_num_queries: Any
) -> None:
    for number in range(rows):
        remember(user, f"key{number}", "value", session_id=session.id)
        create_atomic_memory(user=user, content=f"value {number}", session_id=session.id, now=NOW)
    # settings, the active embedding model, recall and memories; of long-term memories in a savepoint (two more)
    for path, searching in ((MEMORIES, 6), (ATOMIC, 5)):
        with django_assert_num_queries(2):
            assert len(client.get(path).json()["results"]) == rows
        with django_assert_num_queries(searching):
            assert client.get(f"{path}/search", {"q": "value"}).json()["results"]


# One memory


@pytest.mark.spec("L4")
def test_get_put_patch(client: APIClient, user: User) -> None:
    url = f"{MEMORIES}/{remember(user, 'city', 'Berlin').id}"
    memory = client.get(url).json()
    assert client.put(url, memory | {"value": "Paris", "confidence": 0.4}).json()["value"] == "Paris"
    changed = client.patch(url, {"key": "home town"}).json()
    assert (changed["key"], changed["value"], changed["confidence"]) == ("home town", "Paris", 0.4)
    assert (changed["id"], changed["access_count"]) == (memory["id"], 0)
    assert (changed["created_at"], changed["last_accessed"]) == (memory["created_at"], memory["last_accessed"])
    assert changed["updated_at"] > memory["updated_at"]
    assert client.get(url).json() == changed


@pytest.mark.spec("L2")
def test_accept_and_reject(client: APIClient, user: User) -> None:
    first, second = map(str, [*propose(user, "城市", "上海"), *propose(user, "job", "cook")])
    accepted = client.post(f"{MEMORIES}/{first}/accept")
    assert (accepted.status_code, accepted.json()["id"], accepted.json()["status"]) == (200, first, "active")
    rejected = client.post(f"{MEMORIES}/{second}/reject")
    assert (rejected.status_code, rejected.json()["id"], rejected.json()["status"]) == (200, second, "rejected")
    error_fields(client.post(f"{MEMORIES}/{first}/reject"), status=409, code="conflict")


# Deleting


@pytest.mark.long
@pytest.mark.spec("L6")
def test_delete_one_some_and_all(client: APIClient, user: User) -> None:
    one, two, *_others = (remember(user, f"k{number}", "v") for number in range(4))
    assert client.delete(f"{MEMORIES}/{one.id}").json() == {"deleted": 1}
    error_fields(client.get(f"{MEMORIES}/{one.id}"), status=404, code="not_found")
    error_fields(client.delete(f"{MEMORIES}/{one.id}"), status=404, code="not_found")
    answer = client.post(f"{MEMORIES}/batch-delete", {"ids": [str(two.id), str(one.id)]})
    assert (answer.status_code, answer.json()) == (200, {"deleted": 1, "missing": [str(one.id)]})
    assert listed(client, ordering="key") == ["k2", "k3"]
    for unconfirmed in ("", "?confirm=", "?confirm=yes"):
        assert error_fields(client.delete(MEMORIES + unconfirmed)) == {"confirm"}
    assert listed(client, ordering="key") == ["k2", "k3"]
    answer = client.delete(f"{MEMORIES}?confirm=all")
    assert (answer.status_code, answer.json()) == (200, {"deleted": 2})
    assert listed(client, status="all") == []
    assert client.delete(f"{MEMORIES}?confirm=all").json() == {"deleted": 0}


@pytest.mark.parametrize("body", [{}, {"ids": []}, {"ids": ["x"]}])
def test_a_bad_batch_deletes_nothing(client: APIClient, user: User, body: dict[str, Any]) -> None:
    remember(user, "k", "v")
    assert error_fields(client.post(f"{MEMORIES}/batch-delete", body)) == {"ids"}
    assert listed(client) == ["k"]


@pytest.mark.spec("L6")
def test_copies_are_shown_and_removed_on_request(client: APIClient, user: User, session: Session) -> None:
    memory, twin = remember(user, "颜色", "蓝色"), remember(user, "幸运色", "蓝色")
    record_form(user=user, session_id=session.id, title="偏好", fields={"color": "蓝色"}, now=NOW)
    url = f"{MEMORIES}/{memory.id}"
    copies = client.get(f"{url}/copies").json()["results"]
    assert [(copy["kind"], copy["id"], copy["field"]) for copy in copies] == [
        ("long_term", str(twin.id), "幸运色"),
        ("working", str(session.id), "hitl_偏好"),
    ]
    assert error_fields(client.delete(f"{url}?copies=yes")) == {"copies"}
    assert client.delete(f"{url}?copies=true").json() == {"deleted": 1}
    assert listed(client, status="all") == []


# Searching


@pytest.mark.spec("K5", "L4")
def test_search_ranks_and_counts_no_use(client: APIClient, user: User) -> None:
    color = remember(user, "你喜欢的颜色", "蓝色", now=NOW)
    remember(user, "城市", "北京", now=NOW)
    (result,) = client.get(f"{MEMORIES}/search", {"q": "我喜欢的颜色是什么"}).json()["results"]
    assert (result["memory"]["id"], result["memory"]["value"]) == (str(color.id), "蓝色")
    assert (result["category_boost"], result["frequency_score"], result["topic_boost"]) == (1.5, 0.5, 1.0)
    color.refresh_from_db()
    assert (color.access_count, color.last_accessed) == (0, NOW)


@pytest.mark.long
@pytest.mark.spec("K7")
def test_search_takes_the_topic_of_a_session(client: APIClient, user: User, session: Session) -> None:
    remember(user, "编程语言", "Python")
    remember(user, "语言", "中文")
    now = datetime.now(UTC)
    count_turn(user=user, session_id=session.id, now=now, ttl_minutes=30)
    update_working_memory(user=user, session_id=session.id, now=now, changes={"current_topic": "Python 开发"})
    topical = client.get(f"{MEMORIES}/search", {"q": "语言", "session_id": str(session.id)}).json()["results"]
    boosts = {result["memory"]["key"]: result["topic_boost"] for result in topical}
    assert boosts == {"编程语言": 1.3, "语言": 1.0}
    assert topical[0]["memory"]["key"] == "编程语言"


@pytest.mark.parametrize(
    ("path", "query", "status", "code"),
    [
        (MEMORIES, {}, 400, "invalid"),
        (ATOMIC, {"q": "a\x00"}, 400, "invalid"),
        (MEMORIES, {"q": "a\x00"}, 400, "invalid"),
        (MEMORIES, {"q": "a", "limit": "0"}, 400, "invalid"),
        (MEMORIES, {"q": "a", "limit": "51"}, 400, "invalid"),
        (MEMORIES, {"q": "a", "session_id": "x"}, 404, "not_found"),
        (ATOMIC, {"q": " "}, 400, "invalid"),
        (ATOMIC, {"q": "a", "top_n": "51"}, 400, "invalid"),
        (ATOMIC, {"q": "a", "since": "soon"}, 400, "invalid"),
    ],
)
def test_bad_searches(client: APIClient, path: str, query: dict[str, str], status: int, code: str) -> None:
    error_fields(client.get(f"{path}/search", query), status=status, code=code)


@pytest.mark.long
@pytest.mark.parametrize("number", [int("9" * 400), -int("9" * 400), int("9" * 310)])
@pytest.mark.parametrize("name", ["threshold", "top_k"])
def test_a_number_that_is_too_large_is_refused(client: APIClient, name: str, number: int) -> None:
    response = client.post("/memory/conversations/search", {"query": "tea", name: number})
    assert (response.status_code, set(response.json()["error"]["fields"])) == (400, {name})
    response = client.patch("/memory/settings", {"memory.auto_accept_confidence": number})
    assert response.status_code == 400
