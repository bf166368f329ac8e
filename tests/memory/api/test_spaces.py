"""Spaces over REST (P4, P5): one success and one refusal a door; tests/memory/test_spaces.py has the whole table."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.models import Space, User
from apps.accounts.services.people import create_token

pytestmark = pytest.mark.spec("P5")

SPACES, SESSIONS, CONTEXTS, MOVE = "/memory/spaces", "/chat/sessions", "/memory/contexts", "/memory/move"
LONG_TERM, ATOMIC = "/memory/long-term", "/memory/atomic"
BROTHER = "The heroine has a brother."
PLOT = {"title": "Plot", "content": "c"}


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
    made = client.get(f"{SPACES}/{novel}").json()
    new = {"name": "novel", "kind": "project", "instructions": "", "learns_to": "space", "archived": False}
    assert {"id": novel, **new, "paused": False, "sessions": 0, "memories": 0}.items() <= made.items()
    client.post(SESSIONS, {"space": novel})
    changed = client.patch(f"{SPACES}/{novel}", {"kind": "character", "archived": True}).json()
    assert changed == {**made, "kind": "character", "archived": True, "sessions": 1}
    assert client.get(SPACES).json()["results"] == [changed]


@pytest.mark.spec("P1")
def test_what_cannot_be_a_space_is_refused(client: APIClient, novel: str) -> None:
    for body, status in (({"name": "NOVEL"}, 409), ({"name": " "}, 400), ({"name": "x", "kind": "y"}, 400), ({}, 400)):
        assert client.post(SPACES, body).status_code == status
    assert client.post(SPACES, {"name": " " + "x" * 100}).status_code == 400  # as the document says
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
    garden = make(client, "garden")
    client.post(ATOMIC, {"content": "violet outside"})
    inside = bound.post(SESSIONS, {"title": "inside", "space": None}).json()
    own = bound.post(ATOMIC, {"content": "violet inside"}).json()
    assert inside["space"] == own["space"] == bound.post(CONTEXTS, PLOT).json()["space"] == novel
    for refused in (
        bound.post(ATOMIC, {"content": "c", "space": garden}),
        bound.get(ATOMIC, {"space": garden}),
        bound.get(f"{ATOMIC}/search", {"q": "violet", "space": "all"}),
    ):
        assert refused.status_code == 404
    assert bound.post(MOVE, {"ids": [own["id"]], "space": None}).status_code == 403
    assert bound.delete(f"{ATOMIC}?confirm=all").json() == {"deleted": 1}
    assert names(client, ATOMIC) == {"violet outside"}
    assert [space["id"] for space in bound.get(SPACES).json()["results"]] == [novel]
    assert bound.post(SPACES, {"name": "another"}).status_code == 403
    assert bound.patch(f"{SPACES}/{novel}", {"learns_to": "everywhere"}).status_code == 403
    assert bound.delete(f"{SPACES}/{novel}?memories=move&to=none").status_code == 403
    assert bound.patch(f"{SESSIONS}/{inside['id']}", {"space": None}).status_code == 403


def test_what_is_added_goes_to_a_space_and_is_found_by_it(client: APIClient, novel: str) -> None:
    session = client.post(SESSIONS, {"space": novel}).json()["id"]
    fact: dict[str, Any] = {"category": "fact", "value": "York"}
    assert client.post(LONG_TERM, {**fact, "key": "home", "space": novel}).json()["space"] == novel
    assert client.post(LONG_TERM, {**fact, "key": "home"}).json()["space"] is None
    assert client.post(ATOMIC, {"content": BROTHER, "session_id": session}).json()["space"] == novel
    assert client.post(CONTEXTS, {"title": "Plot", "content": "c", "session_id": session}).json()["space"] == novel
    client.post("/summaries", {"title": "Plot", "snippet": "s", "session_id": session})
    client.patch(f"{SPACES}/{novel}", {"learns_to": "everywhere"})
    assert client.post(ATOMIC, {"content": "The user likes tea.", "session_id": session}).json()["space"] is None
    for path, inside, outside in (
        (LONG_TERM, {"home"}, {"home"}),
        (ATOMIC, {BROTHER}, {"The user likes tea."}),
        (CONTEXTS, {"Plot"}, set()),
        ("/summaries", {"Plot"}, set()),
    ):
        assert names(client, path, space="novel") == inside
        assert names(client, path, space="none") == outside
        assert {row["space"] for row in client.get(path, {"space": novel}).json()["results"]} == {novel}
        assert client.get(path, {"space": str(uuid4())}).status_code == 404
    changes = client.get("/memory/changes", {"space": novel}).json()["results"]
    assert {change["space"] for change in changes} == {novel}
    for path, body in ((LONG_TERM, {**fact, "key": "k"}), (ATOMIC, {"content": "c"}), (CONTEXTS, PLOT)):
        assert client.post(path, {**body, "space": str(uuid4())}).status_code == 404


def test_a_list_of_a_space_takes_no_query_more_than_the_space(
    client: APIClient, novel: str, django_assert_num_queries: Any
) -> None:
    for number in range(3):
        session = client.post(SESSIONS, {"space": novel}).json()["id"]
        client.post("/summaries", {"title": f"s{number}", "snippet": "s", "session_id": session})
        client.post(ATOMIC, {"content": f"c{number}", "space": novel})
    for path in (SESSIONS, ATOMIC, "/summaries", "/memory/changes"):
        settings = path == SESSIONS  # they say whether remembering is paused (D5)
        with django_assert_num_queries(2 + settings):
            client.get(path)
        with django_assert_num_queries(3 + settings):
            client.get(path, {"space": novel})
    make(client, "garden")
    with django_assert_num_queries(2):
        assert [space["sessions"] for space in client.get(SPACES).json()["results"]] == [3, 0]


@pytest.mark.spec("P2")
def test_what_was_in_a_space_at_a_time_is_listed_of_it(client: APIClient, novel: str) -> None:
    memory = client.post(ATOMIC, {"content": BROTHER, "space": novel}).json()
    then = timezone.now().isoformat()
    client.post(MOVE, {"ids": [memory["id"]], "space": None})
    for space, found in ((novel, {memory["content"]}), ("none", set())):
        assert names(client, ATOMIC, as_of=then, space=space) == found


@pytest.mark.spec("P2")
def test_searches_look_from_one_place_or_from_all(client: APIClient, novel: str) -> None:
    session = client.post(SESSIONS, {"title": "violet plot", "space": novel}).json()["id"]
    for content, space in (("The violet door is locked.", novel), ("The violet tea is hot.", None)):
        client.post(ATOMIC, {"content": content, "space": space})
        client.post(LONG_TERM, {"category": "fact", "key": content, "value": "violet", "space": space})
    for path in (f"{ATOMIC}/search", f"{LONG_TERM}/search"):

        def spaces(path: str = path, **asked: str) -> set[str | None]:
            return {row["memory"]["space"] for row in client.get(path, {"q": "violet", **asked}).json()["results"]}

        assert spaces() == {None}
        assert spaces(space="novel") == spaces(space="all") == {None, novel}
        assert client.get(path, {"q": "violet", "space": "garden"}).status_code == 404
    assert spaces(session_id=session) == {None, novel}
    asked = {"q": "violet", "mode": "words"}
    assert client.get("/chat/search", asked).json()["results"] == []
    (found,) = client.get("/chat/search", {**asked, "space": "all"}).json()["results"]
    assert found["session"]["space"] == novel


@pytest.mark.spec("P4")
def test_memories_are_moved_and_moved_back(client: APIClient, novel: str) -> None:
    memory, same = (client.post(ATOMIC, {"content": content}).json() for content in (BROTHER, "The heroine sings."))
    client.post(ATOMIC, {"content": "The heroine sings.", "space": novel})
    moved = client.post(MOVE, {"ids": [memory["id"], same["id"], str(uuid4())], "space": novel}).json()
    assert (moved["moved"], moved["taken"]) == (1, [same["id"]])
    assert client.get(f"{ATOMIC}/{memory['id']}").json()["space"] == novel
    assert client.post(f"/memory/changes/{moved['operation']}/undo").status_code == 200
    assert client.get(f"{ATOMIC}/{memory['id']}").json()["space"] is None
    assert client.post(MOVE, {"ids": [memory["id"]], "space": str(uuid4())}).status_code == 404
    bad: list[dict[str, Any]] = [{"ids": [], "space": None}, {"ids": [memory["id"]]}, {"ids": ["x"], "space": None}]
    assert [client.post(MOVE, body).status_code for body in bad] == [400, 400, 400]


def test_a_bound_token_does_nothing_that_concerns_all_its_person_has(bound: APIClient) -> None:
    for method, path in (
        ("post", "/memory/erase"),
        ("patch", "/memory/settings"),
        ("patch", "/profile"),
        ("delete", "/profile"),
        ("get", "/memory/imports"),
    ):
        assert getattr(bound, method)(path).status_code == 403, path
    assert bound.get("/profile").status_code == 200
