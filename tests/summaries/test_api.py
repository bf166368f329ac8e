"""/summaries: everybody's own session summaries, read, written, edited and deleted by hand (S1, R2)."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from apps.summaries.models import SessionSummary
from tests.support.http_server import ApiClient

pytestmark = pytest.mark.long_except("test_a_summary_is_written_read_and_listed", "test_a_bad_body_changes_nothing")

BODY = {"title": "退租", "snippet": "用户想提前退租。"}


def create(client: ApiClient, **changes: Any) -> Any:
    return client.post("/summaries", json={"session_id": client.new_session(), **BODY, **changes})


@pytest.mark.spec("S1", "R2")
def test_a_summary_is_written_read_and_listed(alice: ApiClient):
    session_id = alice.new_session()
    response = create(alice, session_id=session_id)
    assert response.status_code == 201
    summary = response.json()
    assert list(summary) == ["id", "session_id", "space", "title", "snippet", "created_at"]
    assert (summary["session_id"], summary["title"], summary["snippet"]) == (session_id, "退租", "用户想提前退租。")
    assert alice.get(f"/summaries/{summary['id']}").json() == summary
    second = create(alice, title="另一个").json()
    assert alice.get("/summaries").json()["results"] == [second, summary]
    assert alice.get("/summaries?limit=1").json()["count"] == 2


@pytest.mark.spec("R2")
def test_a_summary_is_edited_and_then_marked_so(alice: ApiClient):
    summary = create(alice).json()
    path = f"/summaries/{summary['id']}"
    SessionSummary.objects.update(edited=False)
    patched = alice.patch(path, json={"title": "新标题"})
    assert (patched.status_code, patched.json()) == (200, {**summary, "title": "新标题"})
    assert SessionSummary.objects.get().edited
    replaced = alice.put(path, json={**patched.json(), "snippet": "新摘要。"})
    assert (replaced.status_code, replaced.json()["snippet"]) == (200, "新摘要。")
    assert alice.put(path, json={"title": "只有标题"}).status_code == 400


@pytest.mark.spec("R2")
def test_a_deleted_summary_is_gone_and_another_can_be_written(alice: ApiClient):
    summary = create(alice).json()
    path = f"/summaries/{summary['id']}"
    response = alice.delete(path)
    assert (response.status_code, response.json()) == (200, {"deleted": 1})
    assert [alice.get(path).status_code, alice.delete(path).status_code] == [404, 404]
    assert alice.patch(path, json={"title": "x"}).status_code == 404
    assert alice.get("/summaries").json()["count"] == 0
    again = create(alice, session_id=summary["session_id"])
    assert again.status_code == 201
    assert again.json()["id"] != summary["id"]


def test_a_bad_body_changes_nothing(alice: ApiClient):
    bad: list[dict[str, Any]] = [
        *({"title": title} for title in ("", "x" * 201, "a\u0000b")),
        *({"snippet": snippet} for snippet in ("x" * 2001, None)),
        {"session_id": "none"}, {"edited": False},
    ]  # fmt: skip
    assert {create(alice, **changes).status_code for changes in bad} == {400}
    assert create(alice, session_id=str(uuid.uuid4())).status_code == 404
    assert not SessionSummary.objects.exists()
