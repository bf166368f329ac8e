"""REST of the profile, as a client sees it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.profile.document import ProposedSection
from apps.profile.services import list_pending_proposals, propose_sections

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
EMPTY = {
    "reply_style": "",
    "language_habits": "",
    "background": "",
    "sections": {},
    "version": 0,
    "updated_at": None,
    "proposals": [],
}


@pytest.fixture
def client(user: User) -> APIClient:
    client = APIClient()
    client.force_authenticate(user)
    return client


def propose(user: User, section: str, text: str) -> str:
    """Let the assistant propose a change to a section edited by hand; return the proposal's ID."""
    said_at = datetime.now(UTC) + timedelta(minutes=1)
    propose_sections(user=user, proposals=[ProposedSection(section, text, None, said_at)], now=said_at)
    return str(list_pending_proposals(user).get(text=text).id)


@pytest.mark.spec("U1")
def test_there_is_always_a_document(client: APIClient, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(2):
        response = client.get("/profile")
    assert (response.status_code, response.json()) == (200, EMPTY)
    assert list(response.json()) == list(EMPTY)


@pytest.mark.spec("U1")
def test_put_writes_the_whole_and_patch_what_it_names(client: APIClient) -> None:
    put = client.put("/profile", {"reply_style": "简短", "sections": {"宠物": "猫", "job": "lawyer"}})
    assert put.status_code == 200
    assert put.json() == EMPTY | {
        "reply_style": "简短",
        "sections": {"宠物": "猫", "job": "lawyer"},
        "version": 1,
        "updated_at": put.json()["updated_at"],
    }
    assert datetime.fromisoformat(put.json()["updated_at"]).utcoffset() is not None
    patched = client.patch("/profile", {"background": "北京", "sections": {"job": None, "宠物": "狗"}}).json()
    assert patched == {**put.json(), "background": "北京", "sections": {"宠物": "狗"}, "version": 2} | {
        "updated_at": patched["updated_at"]
    }
    assert client.get("/profile").json() == patched
    replaced = client.put("/profile", {"background": "上海"}).json()
    assert (replaced["reply_style"], replaced["background"], replaced["sections"]) == ("", "上海", {})
    assert replaced["version"] == 3


@pytest.mark.spec("U1")
def test_what_get_answered_can_be_sent_back(client: APIClient, user: User) -> None:
    client.put("/profile", {"reply_style": "short", "sections": {"a": "b"}})
    propose(user, "reply_style", "No emoji")
    document = client.get("/profile").json()
    assert len(document["proposals"]) == 1
    assert client.put("/profile", document).json() == document
    assert client.patch("/profile", document).json() == document


@pytest.mark.spec("U3")
def test_proposals_are_shown_until_they_are_decided(client: APIClient, user: User) -> None:
    client.put("/profile", {"reply_style": "像朋友一样", "background": "律师"})
    first, second = propose(user, "reply_style", "No emoji"), propose(user, "background", "Judge")
    assert client.get("/profile").json()["proposals"] == [
        {"id": first, "section": "reply_style", "text": "No emoji"},
        {"id": second, "section": "background", "text": "Judge"},
    ]
    accepted = client.post(f"/profile/proposals/{first}/accept")
    assert accepted.status_code == 200
    assert (accepted.json()["reply_style"], accepted.json()["version"]) == ("No emoji", 2)
    rejected = client.post(f"/profile/proposals/{second}/reject")
    assert (rejected.status_code, rejected.json()["proposals"], rejected.json()["version"]) == (200, [], 2)
    again = client.post(f"/profile/proposals/{first}/reject")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "conflict")


@pytest.mark.spec("U1", "R2")
def test_delete_leaves_an_empty_document(client: APIClient, user: User) -> None:
    assert client.delete("/profile").json() == {"deleted": 0}
    client.put("/profile", {"reply_style": "short"})
    propose(user, "reply_style", "No emoji")
    response = client.delete("/profile")
    assert (response.status_code, response.json()) == (200, {"deleted": 1})
    assert client.get("/profile").json() == EMPTY
