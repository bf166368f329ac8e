"""REST of shared contexts, as a client sees it."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from tests.support.factories import SessionFactory

CONTEXTS = "/memory/contexts"


def create(client: APIClient, **fields: Any) -> dict[str, Any]:
    response = client.post(CONTEXTS, {"title": "合同纠纷", "content": "甲方未付款", **fields})
    assert response.status_code == 201
    body: dict[str, Any] = response.json()
    return body


@pytest.mark.spec("X1")
def test_a_context_is_made_listed_read_and_deleted(client: APIClient, user: User) -> None:
    session = SessionFactory(user=user)
    context = create(client, session_id=str(session.id))
    assert list(context) == ["id", "session_id", "space", "title", "content", "entries", "created_at", "updated_at"]
    assert (context["session_id"], context["title"]) == (str(session.id), "合同纠纷")
    assert (context["content"], context["entries"]) == ("甲方未付款", [])
    second = create(client, title="another")
    assert second["session_id"] is None
    page = client.get(CONTEXTS).json()
    assert (page["count"], page["results"]) == (2, [second, context])
    assert client.get(f"{CONTEXTS}?limit=1&offset=1").json()["results"] == [context]
    assert client.get(f"{CONTEXTS}/{context['id']}").json() == context
    deleted = client.delete(f"{CONTEXTS}/{context['id']}")
    assert (deleted.status_code, deleted.json()) == (200, {"deleted": 1})
    assert client.get(f"{CONTEXTS}/{context['id']}").status_code == 404
    assert client.delete(f"{CONTEXTS}/{context['id']}").status_code == 404


def test_orderings(client: APIClient) -> None:
    first, second = create(client, title="一"), create(client, title="two")
    assert client.post(f"{CONTEXTS}/{first['id']}/entries", {"text": "已付定金"}).status_code == 201
    for ordering, titles in (
        ("created_at", ["一", "two"]),
        ("-created_at", ["two", "一"]),
        ("updated_at", ["two", "一"]),
        ("-updated_at", ["一", "two"]),
    ):
        listed = client.get(CONTEXTS, {"ordering": ordering}).json()["results"]
        assert [context["title"] for context in listed] == titles
    refused = client.get(CONTEXTS, {"ordering": "title"})
    assert (refused.status_code, list(refused.json()["error"]["fields"])) == (400, ["ordering"])
    assert second["created_at"] > first["created_at"]


@pytest.mark.spec("X3")
def test_an_entry_carries_author_and_time(client: APIClient) -> None:
    path = f"{CONTEXTS}/{create(client)['id']}"
    first = client.post(f"{path}/entries", {"text": "已付定金"})
    second = client.post(f"{path}/entries", {"text": "filed", "author": "paralegal"})
    assert (first.status_code, second.status_code) == (201, 201)
    context = client.get(path).json()
    assert second.json() == context
    assert [(entry["author"], entry["text"]) for entry in context["entries"]] == [
        ("li", "已付定金"),
        ("paralegal", "filed"),
    ]
    assert list(context["entries"][0]) == ["id", "author", "text", "created_at"]
    assert context["entries"][1]["created_at"] == context["updated_at"]


@pytest.mark.long
def test_a_list_takes_the_same_queries_however_long(client: APIClient, django_assert_num_queries: Any) -> None:
    for number in range(5):
        context = create(client, title=f"t{number}")
        client.post(f"{CONTEXTS}/{context['id']}/entries", {"text": "x"})
    with django_assert_num_queries(3):
        client.get(CONTEXTS)
