"""REST of atomic memories."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.memory.lifecycle import create_atomic_memory
from apps.memory.models import AtomicMemory
from apps.memory.recall.features import EARLIER, FEATURES
from tests.support.factories import SessionFactory

pytestmark = [pytest.mark.django_db, pytest.mark.spec("A1")]

ATOMIC = "/memory/atomic"
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def create(user: User, content: str, **fields: Any) -> AtomicMemory:
    memory, _created = create_atomic_memory(user=user, content=content, **{"now": NOW, **fields})
    return memory


def contents(client: APIClient, **query: str) -> list[str]:
    return [memory["content"] for memory in client.get(ATOMIC, query).json()["results"]]


@pytest.mark.long
def test_create_get_put_patch_delete(client: APIClient, user: User) -> None:
    session = SessionFactory.create(user=user)
    body = {"content": "用户去了上海。", "tags": ["旅行"], "event_start": "2026-05-05T08:00:00+08:00"}
    response = client.post(ATOMIC, {**body, "session_id": str(session.id)})
    memory = response.json()
    assert response.status_code == 201
    assert (memory["content"], memory["tags"], memory["event_end"]) == ("用户去了上海。", ["旅行"], None)
    assert (memory["status"], memory["session_id"], memory["timestamp"]) == (
        "active",
        str(session.id),
        memory["create_time"],
    )
    url = f"{ATOMIC}/{memory['id']}"
    assert client.get(url).json() == memory
    assert client.put(url, {**memory, "content": "用户去了广州。"}).json()["content"] == "用户去了广州。"
    assert client.patch(url, {"content": "用户去了深圳。"}).json()["tags"] == ["旅行"]
    replaced = client.put(url, {"content": "用户去了珠海。"}).json()
    assert (replaced["tags"], replaced["event_start"]) == ([], None)
    assert client.delete(url).json() == {"deleted": 1}
    assert client.get(url).status_code == 404


def test_the_same_content_again_is_200(client: APIClient) -> None:
    first = client.post(ATOMIC, {"content": "用户喜欢茶。"}).json()
    again = client.post(ATOMIC, {"content": "用户喜欢茶", "tags": ["茶"]})
    assert (again.status_code, again.json()["id"], again.json()["tags"]) == (200, first["id"], ["茶"])


def test_clearing_all(client: APIClient, user: User) -> None:
    create(user, "tea")
    create(user, "coffee")
    refused = client.delete(ATOMIC)
    assert (refused.status_code, set(refused.json()["error"]["fields"])) == (400, {"confirm"})
    assert client.delete(f"{ATOMIC}?confirm=all").json() == {"deleted": 2}


@pytest.mark.long
def test_a_list_is_narrowed_and_ordered(client: APIClient, user: User) -> None:
    session = SessionFactory.create(user=user)
    create(user, "用户喝茶。", tags=["饮料", "茶"], timestamp=NOW)
    create(user, "用户喝咖啡。", tags=["饮料"], timestamp=NOW + timedelta(days=2), now=NOW + timedelta(days=1))
    create(user, "旧的。", timestamp=NOW - timedelta(days=9), session_id=session.id, now=NOW + timedelta(days=2))
    AtomicMemory.objects.filter(content="旧的。").update(status="superseded")
    assert contents(client) == ["用户喝咖啡。", "用户喝茶。"]
    assert contents(client, status="all") == ["旧的。", "用户喝咖啡。", "用户喝茶。"]
    assert contents(client, status="superseded,pending") == ["旧的。"]
    assert contents(client, search="咖啡") == ["用户喝咖啡。"]
    assert contents(client, tags="饮料") == ["用户喝咖啡。", "用户喝茶。"]
    assert contents(client, tags="饮料, 茶") == ["用户喝茶。"]
    assert contents(client, since="2026-05-02T00:00:00Z") == ["用户喝咖啡。"]
    assert contents(client, since="2026-05-02T16:50:00+16:50") == ["用户喝咖啡。"]  # more than PostgreSQL knows
    assert contents(client, until="2026-05-01T20:00:00+08:00") == ["用户喝茶。"]
    assert contents(client, session_id=str(session.id), status="all") == ["旧的。"]
    assert contents(client, ordering="timestamp", status="all") == ["旧的。", "用户喝茶。", "用户喝咖啡。"]
    assert contents(client, ordering="created_at") == ["用户喝茶。", "用户喝咖啡。"]
    assert contents(client, ordering="-updated_at") == ["用户喝咖啡。", "用户喝茶。"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "content"),
        ({"content": 3}, "content"),
        ({"content": "x", "tags": "tea"}, "tags"),
        ({"content": "x", "timestamp": "2026-05-01T00:00:00"}, "timestamp"),
        ({"content": "x", "timestamp": "0001-01-01T00:00:00Z"}, "timestamp"),
        ({"content": "x", "event_start": "9999-12-31T23:59:59Z"}, "event_start"),
        ({"content": "x", "status": "pending"}, "status"),
    ],
)
def test_a_bad_body_is_refused(client: APIClient, body: dict[str, Any], field: str) -> None:
    response = client.post(ATOMIC, body)
    assert (response.status_code, list(response.json()["error"]["fields"])) == (400, [field])
    assert not AtomicMemory.objects.exists()


@pytest.mark.spec("A4")
def test_search_ranks_and_tells_why(client: APIClient, user: User) -> None:
    tea = create(user, "用户喝茶。", timestamp=NOW)
    create(user, "用户喝咖啡，也喝茶，还喝果汁和牛奶。", timestamp=NOW + timedelta(days=1))
    create(user, "The user lives in Berlin.")
    results = client.get(f"{ATOMIC}/search", {"q": "喝茶", "top_n": 2}).json()["results"]
    assert results[0]["memory"]["id"] == str(tea.id)
    assert results[1]["score"] < results[0]["score"]
    for result in results:
        assert list(result["parts"]) == [*FEATURES, *EARLIER]
        assert sum(result["parts"].values()) == pytest.approx(result["score"])
    assert results[0]["keyword_score"] > results[1]["keyword_score"] > 0
    bounded = client.get(f"{ATOMIC}/search", {"q": "喝茶", "since": "2026-05-02T00:00:00Z"}).json()["results"]
    assert len(bounded) == 1
    assert client.get(f"{ATOMIC}/search", {"q": "喝茶", "until": "2020-01-01T00:00:00Z"}).json() == {"results": []}
