"""Spaces over REST (P4, P5): one success and one refusal a door; tests/memory/test_spaces.py has the whole table."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import Space, User
from apps.accounts.services.people import create_token

pytestmark = pytest.mark.spec("P5")

SPACES, SESSIONS, LONG_TERM, ATOMIC = "/memory/spaces", "/chat/sessions", "/memory/long-term", "/memory/atomic"


def make(client: APIClient, name: str = "novel", **fields: Any) -> str:
    response = client.post(SPACES, {"name": name, **fields})
    assert response.status_code == 201, response.json()
    return str(response.json()["id"])


@pytest.fixture
def novel(client: APIClient, user: User) -> str:
    return make(client)


@pytest.fixture
def bound(user: User, novel: str) -> APIClient:
    """A client whose token is bound to the novel."""
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {create_token(user=user, space=Space.objects.get(id=novel))}")
    return client


def names(client: APIClient, path: str, **asked: str) -> set[str]:
    rows = client.get(path, asked).json()["results"]
    return {row.get("title") or row.get("key") or row.get("content") for row in rows}


@pytest.mark.spec("P1")
def test_a_space_is_made_listed_changed_and_read(client: APIClient, novel: str) -> None:
    assert client.get(f"{SPACES}/{novel}").json() | {"created_at": ""} == {
        "id": novel,
        "name": "novel",
        "kind": "project",
        "instructions": "",
        "learns_to": "space",
        "archived": False,
        "created_at": "",
        "sessions": 0,
        "memories": 0,
    }
    client.post(SESSIONS, {"space": novel})
    changed = client.patch(f"{SPACES}/{novel}", {"kind": "character", "archived": True}).json()
    assert (changed["kind"], changed["archived"], changed["name"], changed["sessions"]) == (
        "character",
        True,
        "novel",
        1,
    )
    assert client.get(SPACES).json()["results"] == [changed]


@pytest.mark.spec("P1")
def test_what_cannot_be_a_space_is_refused(client: APIClient, novel: str) -> None:
    for body, status in (({"name": "NOVEL"}, 409), ({"name": " "}, 400), ({"name": "x", "kind": "y"}, 400), ({}, 400)):
        assert client.post(SPACES, body).status_code == status
    assert client.patch(f"{SPACES}/{novel}", {"colour": "red"}).status_code == 400
    for call in (client.get, client.patch, client.delete):
        assert call(f"{SPACES}/{uuid4()}").status_code == 404


@pytest.mark.spec("P4")
def test_a_space_is_deleted_by_moving_or_erasing_what_is_in_it(client: APIClient, novel: str) -> None:
    session = client.post(SESSIONS, {"space": novel}).json()["id"]
    moved = client.delete(f"{SPACES}/{novel}?memories=move&to=none")
    counts = {"long_term": 0, "atomic": 0, "context": 0, "session": 1}
    assert (moved.status_code, moved.json()) == (200, {"deleted": 1, "moved": counts, "erased": {}, "verified": True})
    assert client.get(f"{SESSIONS}/{session}").json()["space"] is None
    garden = make(client, "garden")
    client.patch(f"{SESSIONS}/{session}", {"space": garden})
    for asked in ("", "?memories=move", "?memories=erase", "?memories=erase&confirm=novel"):
        assert client.delete(f"{SPACES}/{garden}{asked}").status_code == 400
    assert client.delete(f"{SPACES}/{garden}?memories=move&to={uuid4()}").status_code == 404
    assert client.delete(f"{SPACES}/{garden}?memories=erase&confirm=garden").json()["erased"]["session"] == 1
    assert client.get(f"{SESSIONS}/{session}").status_code == client.get(f"{SPACES}/{garden}").status_code == 404


def test_a_session_is_begun_in_a_space_listed_by_it_and_moved(client: APIClient, novel: str) -> None:
    inside = client.post(SESSIONS, {"title": "inside", "space": novel}).json()
    outside = client.post(SESSIONS, {"title": "outside"}).json()
    assert (inside["space"], outside["space"]) == (novel, None)
    assert names(client, SESSIONS) == {"inside", "outside"}
    assert names(client, SESSIONS, space=novel) == names(client, SESSIONS, space="Novel") == {"inside"}
    assert names(client, SESSIONS, space="none") == {"outside"}
    moved = client.patch(f"{SESSIONS}/{inside['id']}", {"space": None, "title": "back"}).json()
    assert (moved["space"], moved["title"]) == (None, "back")
    assert client.get(SESSIONS, {"space": "garden"}).status_code == 404
    assert client.post(SESSIONS, {"space": str(uuid4())}).status_code == 404
    assert client.patch(f"{SESSIONS}/{outside['id']}", {"space": str(uuid4())}).status_code == 404


def test_a_bound_token_makes_and_moves_nothing_outside(client: APIClient, bound: APIClient, novel: str) -> None:
    make(client, "garden")
    outside = client.post(SESSIONS, {"title": "outside"}).json()["id"]
    assert names(bound, SESSIONS) == {"outside"}
    inside = bound.post(SESSIONS, {"title": "inside", "space": None}).json()
    assert inside["space"] == novel
    assert [space["id"] for space in bound.get(SPACES).json()["results"]] == [novel]
    assert bound.post(SPACES, {"name": "another"}).status_code == 403
    assert bound.patch(f"{SPACES}/{novel}", {"learns_to": "everywhere"}).status_code == 403
    assert bound.delete(f"{SPACES}/{novel}?memories=move&to=none").status_code == 403
    assert bound.patch(f"{SESSIONS}/{inside['id']}", {"space": None}).status_code == 403
    assert bound.patch(f"{SESSIONS}/{outside}", {"title": "x"}).status_code == 404
    assert bound.delete(f"{SESSIONS}/{outside}").status_code == 404
