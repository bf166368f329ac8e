"""Sessions and favourites over REST (C1, C2, C7, W4)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from apps.chat.tasks import delete_idle_temporary_sessions
from apps.conversations.models import Message, Session
from apps.memory.models import LongTermMemory, WorkingMemory
from apps.memory.tasks import expire_working_memory
from tests.support.answers import answer
from tests.support.http_server import ApiClient
from tests.support.scripted_model import ScriptedModel

pytestmark = [
    pytest.mark.usefixtures("model"),
    pytest.mark.long_except(
        "test_each_session_has_its_own_id_and_starts_empty",
        "test_a_key_finds_the_session_that_was_started_with_it",
        "test_sessions_are_listed_by_last_activity_and_paged",
        "test_deleting_a_session_removes_what_was_said_and_keeps_what_is_remembered",
        "test_a_temporary_session_is_deleted_after_idling",
        "test_working_memory_comes_with_the_first_message_and_goes_after_30_idle_minutes",
    ),
]


@pytest.mark.spec("C2")
def test_each_session_has_its_own_id_and_starts_empty(alice: ApiClient):
    made = [alice.post("/chat/sessions", json={}) for _number in range(3)]
    assert [response.status_code for response in made] == [201] * 3
    assert len({response.json()["id"] for response in made}) == 3
    assert set(made[0].json()) == {
        "id", "title", "created_at", "last_active_at", "temporary", "paused", "paused_by", "space", "pinned",
        "archived", "model",
    }  # fmt: skip
    empty = alice.get(f"/chat/sessions/{made[0].json()['id']}/messages").json()
    assert empty == {"count": 0, "next": None, "previous": None, "results": []}


@pytest.mark.spec("C2")
def test_a_key_finds_the_session_that_was_started_with_it(alice: ApiClient, bob: ApiClient):
    def start(person: ApiClient, key: str, **body: str):
        return person.post("/chat/sessions", json=body, headers={"Idempotency-Key": key})

    first = start(alice, "chat 1", title="t").json()
    assert start(alice, "chat 1", title="other").json() == first
    others = [start(alice, "chat 2"), start(bob, "chat 1"), alice.post("/chat/sessions", json={})]
    assert len({first["id"], *(other.json()["id"] for other in others)}) == 4
    assert start(alice, "k" * 256).status_code == 400
    alice.delete(f"/chat/sessions/{first['id']}").raise_for_status()
    assert start(alice, "chat 1").json()["title"] == ""


def test_sessions_are_listed_by_last_activity_and_paged(alice: ApiClient, bob: ApiClient):
    bob.new_session()
    ids = [alice.new_session(title=f"s{number}") for number in range(3)]
    alice.say(ids[0], "你好").raise_for_status()
    listed = alice.get("/chat/sessions").json()
    assert [session["id"] for session in listed["results"]] == [ids[0], ids[2], ids[1]]
    page = alice.get("/chat/sessions", params={"limit": 1, "offset": 1}).json()
    assert (page["count"], [session["id"] for session in page["results"]]) == (3, [ids[2]])
    assert page["next"].endswith("limit=1&offset=2")


def test_an_untitled_session_takes_its_title_from_the_first_message(alice: ApiClient):
    session = alice.new_session()
    alice.say(session, "  我想去\n北京旅行  ")
    alice.say(session, "再说一句")
    assert alice.get(f"/chat/sessions/{session}").json()["title"] == "我想去 北京旅行"
    assert alice.patch(f"/chat/sessions/{session}", json={"title": "旅行"}).json()["title"] == "旅行"
    alice.say(session, "还有")
    assert alice.get(f"/chat/sessions/{session}").json()["title"] == "旅行"


@pytest.mark.parametrize(
    ("content", "title"),
    [
        (f"{'a' * 30} {'b' * 40}", f"{'a' * 30}…"),
        ("x" * 100, "x" * 59 + "…"),
        ("I would like to move the whole application to Kubernetes before June", None),
        ("我们公司下个月要搬到新的办公室去，" * 5 + "人工智能", None),
    ],
)
def test_a_long_first_message_is_cut_in_the_title_where_a_word_ends(alice: ApiClient, content: str, title: str | None):
    session = alice.new_session()
    alice.say(session, content)
    given = alice.get(f"/chat/sessions/{session}").json()["title"]
    assert given == (title or given)
    assert len(given) <= 60
    begun = given.removesuffix("…")
    assert content.startswith(begun)
    assert title == "x" * 59 + "…" or not (content[len(begun) - 1 : len(begun) + 1]).isalpha() or not begun.isascii()


def test_a_session_is_pinned_and_archived_and_stays_where_its_last_activity_put_it(alice: ApiClient):
    first, second = alice.new_session(title="一"), alice.new_session(title="二")
    before = alice.get(f"/chat/sessions/{first}").json()
    changed = alice.patch(f"/chat/sessions/{first}", json={"pinned": True, "archived": True})
    assert (changed.status_code, changed.json()) == (200, {**before, "pinned": True, "archived": True})
    back = alice.patch(f"/chat/sessions/{first}", json={"archived": False}).json()
    assert back == {**before, "pinned": True}
    assert [session["id"] for session in alice.get("/chat/sessions").json()["results"]] == [second, first]


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ("", ["plain", "archived", "pinned"]),
        ("archived=false", ["plain", "pinned"]),
        ("archived=true", ["archived"]),
        ("archived=false&pinned=true", ["pinned"]),
        ("pinned=false&archived=false", ["plain"]),
    ],
)
def test_the_list_has_all_sessions_unless_it_is_narrowed(alice: ApiClient, query: str, titles: list[str]):
    for title in ("pinned", "archived", "plain"):
        session = alice.new_session(title=title)
        if title != "plain":
            alice.patch(f"/chat/sessions/{session}", json={title: True}).raise_for_status()
    listed = alice.get(f"/chat/sessions?{query}").json()
    assert (listed["count"], [session["title"] for session in listed["results"]]) == (len(titles), titles)


@pytest.mark.spec("W4")
def test_deleting_a_session_removes_what_was_said_and_keeps_what_is_remembered(alice: ApiClient, model: ScriptedModel):
    entry = {"category": "preference", "key": "喜欢的颜色", "value": "蓝色"}
    model.script(answer(entries=[entry]))
    session, other = alice.new_session(), alice.new_session()
    alice.say(session, "我喜欢蓝色")
    alice.say(other, "你好")
    assert alice.delete(f"/chat/sessions/{session}").json() == {"deleted": 1}
    assert alice.get(f"/chat/sessions/{session}").status_code == 404
    assert alice.get(f"/memory/working/{session}").status_code == 404
    assert set(Message.objects.values_list("session_id", flat=True).distinct()) == {Session.objects.get().id}
    memory = LongTermMemory.objects.get()
    assert (memory.status, memory.session_id, memory.message_id) == ("active", None, None)


@pytest.mark.spec("C1")
def test_a_favourite_is_kept(alice: ApiClient):
    session = alice.new_session()
    message = alice.say(session, "你好").json()["assistant_message"]["id"]
    changed = alice.patch(f"/chat/messages/{message}", json={"is_collected": True})
    assert (changed.status_code, changed.json()["is_collected"]) == (200, True)
    stored = alice.get(f"/chat/sessions/{session}/messages").json()["results"]
    assert [item["is_collected"] for item in stored] == [False, True]
    assert alice.patch(f"/chat/messages/{message}", json={"is_collected": False}).json()["is_collected"] is False
    for body in ({}, {"is_collected": "yes"}, {"is_collected": 1}, {"is_collected": None}):
        assert alice.patch(f"/chat/messages/{message}", json=body).status_code == 400


@pytest.mark.spec("C7")
def test_a_temporary_session_is_deleted_after_idling(alice: ApiClient):
    temporary, lasting = alice.new_session(temporary=True), alice.new_session()
    alice.say(temporary, "你好")
    alice.say(lasting, "你好")
    assert delete_idle_temporary_sessions() == 0
    Session.objects.update(last_active_at=F("last_active_at") - timedelta(minutes=31))
    assert delete_idle_temporary_sessions() == 1
    assert [str(key) for key in Session.objects.values_list("id", flat=True)] == [lasting]
    assert Message.objects.filter(session_id=temporary).count() == 0


@pytest.mark.spec("W2", "W4")
def test_working_memory_comes_with_the_first_message_and_goes_after_30_idle_minutes(alice: ApiClient):
    session = alice.new_session()
    path = f"/memory/working/{session}"
    assert alice.get(path).status_code == 404
    started = timezone.now()
    alice.say(session, "你好")
    working = alice.get(path).json()
    assert set(working) == {
        "session_id", "current_topic", "context_variables", "turn_count", "last_emotion", "created_at", "updated_at",
    }  # fmt: skip
    assert working["turn_count"] == 1
    assert working["created_at"] >= started.isoformat()
    WorkingMemory.objects.update(updated_at=timezone.now() - timedelta(minutes=29, seconds=50))
    assert alice.get(path).status_code == 200
    assert expire_working_memory() == 0
    WorkingMemory.objects.update(updated_at=timezone.now() - timedelta(minutes=30, seconds=1))
    assert alice.get(path).status_code == 404
    assert expire_working_memory() == 1
    assert not WorkingMemory.objects.exists()


@pytest.mark.spec("W4", "E3")
@pytest.mark.parametrize("swept", [False, True])
def test_the_next_message_after_expiry_starts_anew(alice: ApiClient, model: ScriptedModel, swept: bool):
    session = alice.new_session()
    sad = {"primary": "sad", "confidence": 0.9, "indicators": []}
    model.script(answer(emotion=sad, topic="旧", variables={"a": 1}), answer())
    alice.say(session, "难过")
    WorkingMemory.objects.update(updated_at=timezone.now() - timedelta(minutes=31))
    if swept:
        expire_working_memory()
    turn = alice.say(session, "你好").json()
    working = turn["working_memory"]
    assert (working["turn_count"], working["current_topic"], working["context_variables"]) == (1, None, {})
    assert turn["strategy"]["emotion"] == "neutral"


@pytest.mark.spec("W4")
def test_how_long_it_may_idle_is_each_users_own(alice: ApiClient, bob: ApiClient):
    alice.patch("/memory/settings", json={"memory.working_ttl_minutes": 60}).raise_for_status()
    for client in (alice, bob):
        client.say(client.new_session(), "你好").raise_for_status()
    WorkingMemory.objects.update(updated_at=timezone.now() - timedelta(minutes=45))
    assert expire_working_memory() == 1
    assert WorkingMemory.objects.get().user == alice.user


def test_working_memory_can_be_edited_and_deleted(alice: ApiClient):
    session = alice.new_session()
    path = f"/memory/working/{session}"
    assert alice.patch(path, json={"current_topic": "x"}).status_code == 404
    assert alice.delete(path).status_code == 404
    alice.say(session, "你好")
    changed = alice.patch(path, json={"current_topic": "旅行", "context_variables": {"a": 1, "b": [2]}}).json()
    assert (changed["current_topic"], changed["context_variables"], changed["turn_count"]) == (
        "旅行", {"a": 1, "b": [2]}, 1,
    )  # fmt: skip
    changed = alice.patch(path, json={"current_topic": None, "context_variables": {"a": None}}).json()
    assert (changed["current_topic"], changed["context_variables"]) == (None, {"b": [2]})
    too_large = alice.patch(path, json={"context_variables": {"c": 1, "big": "x" * 70_000}})
    assert (too_large.status_code, too_large.json()["error"]["code"]) == (413, "too_large")
    assert alice.get(path).json()["context_variables"] == {"b": [2]}
    for body in (
        {"current_topic": 5},
        {"context_variables": []},
        {"turn_count": 9},
        {"current_topic": "x" * 201},
        {"context_variables": {"hitl_x": "no form"}},
    ):
        assert alice.patch(path, json=body).status_code == 400, body
    assert alice.delete(path).json() == {"deleted": 1}
    assert alice.get(path).status_code == 404
