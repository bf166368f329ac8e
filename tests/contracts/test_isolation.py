"""Two people against every endpoint: what is one's is not there for the other, and nobody but its owner changes it."""

from __future__ import annotations

from typing import Any

import pytest

from apps.conversations.models import Message
from tests.contracts.routes import Route, list_api_calls, name_call
from tests.contracts.world import SECRET, World, build_world, dump
from tests.support.http_server import ApiClient

MEMORY = {"category": "fact", "key": "k", "value": "v"}
SUMMARY = {"title": "t", "snippet": "s"}
EVERYTHING = {"query": SECRET, "top_k": 50, "threshold": 0}
BODIES: dict[tuple[str, str], Any] = {
    ("session", "patch"): {"title": "taken over"},
    ("messages", "post"): {"content": "你好"},
    ("turns", "post"): {"messages": [{"role": "user", "content": "你好"}]},
    ("forms", "post"): {"title": "行程安排", "fields": {"destination": "北京"}},
    ("message", "patch"): {"is_collected": True},
    ("memory", "put"): MEMORY,
    ("memory", "patch"): {"value": "taken over"},
    ("atomic-memory", "put"): {"content": "taken over"},
    ("atomic-memory", "patch"): {"content": "taken over"},
    ("shared-context-entries", "post"): {"text": "taken over"},
    ("edit", "post"): {"content": "taken over"},
    ("working-memory", "patch"): {"current_topic": "taken over"},
    ("summary", "put"): SUMMARY,
    ("summary", "patch"): {"snippet": "taken over"},
}
"""What to send where a body is needed, so that its owner is served."""

FILES: dict[tuple[str, str], Any] = {("attachments", "post"): {"file": ("notes.txt", b"taken over")}}
"""What to send where a file is needed."""

WITH_BODY: dict[tuple[str, str], Any] = {
    **BODIES,
    ("sessions", "post"): {},
    ("retry", "post"): {},
    ("regenerate", "post"): {},
    ("memories", "post"): MEMORY,
    ("atomic-memories", "post"): {"content": "c"},
    ("memories-batch-delete", "post"): {"ids": ["00000000-0000-0000-0000-000000000000"]},
    ("conversations-search", "post"): {"query": "q"},
    ("shared-contexts", "post"): {"title": "t", "content": "c"},
    ("profile", "put"): {},
    ("profile", "patch"): {},
    ("settings", "patch"): {},
    ("summaries", "post"): {**SUMMARY, "session_id": "00000000-0000-0000-0000-000000000000"},
    ("erase", "post"): {"confirm": "alice"},
}
"""All that takes a body, and an acceptable one."""

CREATED = {
    ("messages", "post"),
    ("forms", "post"),
    ("retry", "post"),
    ("regenerate", "post"),
    ("edit", "post"),
    ("shared-context-entries", "post"),
    ("attachments", "post"),
}
OPENAI = {("openai-chat-completions", "post"), ("openai-embeddings", "post"), ("openai-responses", "post")}
"""What takes bodies of OpenAI's API: tests/doors has what of them is refused."""

NOBODYS = {"openai-model"}
"""Routes whose objects are the same for everybody."""

ACCEPTED = {("turns", "post"), ("import-undo", "post")}
OBJECT_CALLS = [(route, method) for route, method in list_api_calls() if route.parameters and route.name not in NOBODYS]
COLLECTION_CALLS = {(route.name, method) for route, method in list_api_calls() if not route.parameters}


@pytest.fixture
def world(alice: ApiClient) -> World:
    """One of everything, Alice's."""
    return build_world(alice)


def send(client: ApiClient, route: Route, method: str, world: World) -> Any:
    """Call the route for Alice's object."""
    files = FILES.get((route.name, method))
    body = BODIES.get((route.name, method))
    return client.request(method, route.path(**world.values(route)), json=body, files=files)


def test_an_object_is_not_there_for_another_person(
    subtests: pytest.Subtests, alice: ApiClient, bob: ApiClient, world: World
):
    before = dump(alice.user)
    for route, method in OBJECT_CALLS:
        with subtests.test(name_call(route), method=method):
            refused = send(bob, route, method, world)
            assert refused.status_code == 404
            assert refused.json()["error"]["code"] == "not_found"
            assert SECRET not in refused.text
    assert dump(alice.user) == before


@pytest.mark.long
@pytest.mark.parametrize(("route", "method"), OBJECT_CALLS, ids=name_call)
def test_an_object_is_there_for_its_owner(alice: ApiClient, world: World, route: Route, method: str):
    expected = 201 if (route.name, method) in CREATED else 202 if (route.name, method) in ACCEPTED else 200
    assert send(alice, route, method, world).status_code == expected


@pytest.mark.long
def test_a_field_that_nobody_knows_is_refused_and_nothing_changes(
    subtests: pytest.Subtests, alice: ApiClient, world: World
):
    before = dump(alice.user)
    for route, method in list_api_calls():
        if (route.name, method) in WITH_BODY:
            with subtests.test(name_call(route), method=method):
                body = {**WITH_BODY[route.name, method], "vlaue": 1}
                response = alice.request(method, route.path(**world.values(route)), json=body)
                assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid")
                assert "vlaue" in response.json()["error"]["fields"]
    assert dump(alice.user) == before


def test_lists_searches_and_settings_hold_nothing_of_others(alice: ApiClient, bob: ApiClient, world: World):
    before = dump(alice.user)
    missing = {"deleted": 0, "missing": [world.pending]}
    empty_page = {"count": 0, "next": None, "previous": None, "results": []}
    assert bob.get("/chat/sessions").json() == empty_page
    for mode in ("all", "words", "meaning"):
        assert bob.get("/chat/search", params={"q": SECRET, "mode": mode}).json() == {"results": []}
    assert bob.get("/memory/long-term?status=all").json() == empty_page
    assert bob.get("/memory/long-term?status=all&search=violet").json() == empty_page
    assert bob.get("/memory/changes").json() == empty_page
    assert bob.get("/memory/imports").json() == empty_page
    assert bob.get("/memory/long-term/search", params={"q": SECRET}).json() == {"results": []}
    assert bob.post("/memory/long-term/batch-delete", json={"ids": [world.pending]}).json() == missing
    assert bob.delete("/memory/long-term?confirm=all").json() == {"deleted": 0}
    assert bob.get("/memory/atomic?status=all").json() == empty_page
    assert bob.get("/memory/atomic?status=all&search=violet").json() == empty_page
    assert bob.get("/memory/atomic/search", params={"q": SECRET}).json() == {"results": []}
    assert bob.delete("/memory/atomic?confirm=all").json() == {"deleted": 0}
    assert bob.post("/memory/conversations/search", json=EVERYTHING).json() == {"results": []}
    assert SECRET not in bob.get("/memory/export").text
    assert bob.get("/memory/long-term/export").json() == []
    taken = alice.get("/memory/long-term/export").content
    imported = bob.post("/memory/long-term/import", files={"file": ("memories.json", taken)})
    assert imported.json() == {"created": 2, "updated": 0, "skipped": 0, "errors": []}
    assert bob.post("/memory/erase", json={"confirm": "bob"}).json()["verified"]
    assert bob.get("/memory/contexts").json() == empty_page
    assert bob.get("/summaries").json() == empty_page
    assert SECRET not in bob.get("/profile").text
    assert bob.put("/profile", json={"background": "Bob's"}).json()["version"] == 1
    assert bob.delete("/profile").json() == {"deleted": 1}
    assert bob.get("/memory/settings").json()["memory.timezone"] == "UTC"
    assert bob.patch("/memory/settings", json={"memory.timezone": "Asia/Tokyo"}).status_code == 200
    assert bob.post("/chat/sessions", json={"title": "Bob's"}).status_code == 201
    assert bob.post("/memory/long-term", json={**MEMORY, "key": f"key {SECRET}"}).status_code == 201
    assert bob.post("/memory/atomic", json={"content": SECRET}).status_code == 201
    assert dump(alice.user) == before
    assert alice.get("/chat/sessions").json()["count"] == 2
    assert SECRET in alice.get("/chat/search", params={"q": SECRET, "mode": "words"}).text
    assert alice.get("/memory/atomic?status=all").json()["count"] == 2
    assert len(alice.get("/memory/atomic/search", params={"q": SECRET}).json()["results"]) == 1
    assert SECRET in alice.post("/memory/conversations/search", json=EVERYTHING).text
    assert alice.get("/memory/long-term?status=all").json()["count"] == 2
    assert len(alice.get("/memory/long-term/search", params={"q": SECRET}).json()["results"]) == 1
    assert alice.get("/memory/settings").json()["memory.timezone"] == "Asia/Shanghai"


def test_the_tests_above_cover_every_endpoint():
    changes = {(route.name, method) for route, method in list_api_calls() if method in ("post", "put", "patch")}
    assert changes == set(WITH_BODY) | OPENAI | {
        ("memory-accept", "post"),
        ("memory-reject", "post"),
        ("undo", "post"),
    } | {
        ("memories-import", "post"),  # no JSON
        ("imports", "post"),  # the same
        ("import-undo", "post"),
        ("profile-proposal-accept", "post"),
        ("profile-proposal-reject", "post"),
        ("atomic-accept", "post"),
        ("atomic-reject", "post"),
        ("forget-candidate", "post"),
        ("stop", "post"),
        ("undo-edit", "post"),
        ("attachments", "post"),  # no JSON
    }
    assert {
        ("models", "get"),
        ("search", "get"),
        ("sessions", "get"),
        ("sessions", "post"),
        ("memories", "get"),
        ("memories", "post"),
        ("memories", "delete"),
        ("memories-batch-delete", "post"),
        ("memories-search", "get"),
        ("memories-export", "get"),
        ("memories-import", "post"),
        ("atomic-memories", "get"),
        ("atomic-memories", "post"),
        ("atomic-memories", "delete"),
        ("atomic-search", "get"),
        ("conversations-search", "post"),
        ("changes", "get"),
        ("imports", "get"),
        ("imports", "post"),
        ("export", "get"),
        ("erase", "post"),
        ("shared-contexts", "get"),
        ("shared-contexts", "post"),
        ("profile", "get"),
        ("profile", "put"),
        ("profile", "patch"),
        ("profile", "delete"),
        ("settings", "get"),
        ("settings", "patch"),
        ("summaries", "get"),
        ("summaries", "post"),
        ("openai-models", "get"),
        *OPENAI,
    } == COLLECTION_CALLS


@pytest.mark.long
def test_what_a_request_names_besides_its_path_has_to_be_the_callers_too(
    alice: ApiClient, bob: ApiClient, world: World
):
    before = dump(alice.user)
    assert bob.get(f"/memory/long-term/search?q=violet&session_id={world.session}").status_code == 404
    assert bob.post("/memory/long-term", json={**MEMORY, "session_id": world.session}).status_code == 404
    assert bob.post("/memory/conversations/search", json={**EVERYTHING, "chat_id": world.session}).status_code == 404
    assert bob.post("/memory/atomic", json={"content": "c", "session_id": world.session}).status_code == 404
    assert bob.post("/summaries", json={**SUMMARY, "session_id": world.session}).status_code == 404
    assert bob.get("/memory/long-term?status=all").json()["count"] == 0
    assert dump(alice.user) == before


@pytest.mark.long
def test_what_a_client_of_openais_api_continues_has_to_be_its_persons(alice: ApiClient, bob: ApiClient, world: World):
    before = dump(alice.user)
    chat: dict[str, Any] = {"messages": [{"role": "user", "content": SECRET}]}
    session = {"X-Session-Id": world.session}
    response = {"input": SECRET, "previous_response_id": world.ids["response_id"]}
    item = {"type": "item_reference", "id": world.ids["response_id"].replace("resp", "msg")}
    for path, body, headers in (
        ("/v1/chat/completions", chat, session),
        ("/v1/responses", {"input": SECRET}, session),
        ("/v1/responses", response, {}),
        ("/v1/responses", {"input": [item, {"role": "user", "content": SECRET}]}, {}),
    ):
        for extra in ({}, {"stream": True}, {"store": False} if not headers else {}):
            refused = bob.post(path, json={**body, **extra}, headers=headers)
            assert refused.status_code == 404, (path, body)
    # The same history as Alice's is no reason to find her session.
    alices = Message.objects.get(id=world.reply)
    told = [
        {"role": "user", "content": SECRET}, {"role": "assistant", "content": alices.content},
        {"role": "user", "content": f"{SECRET}?"},
    ]  # fmt: skip
    for path, body in (("/v1/chat/completions", {"messages": told}), ("/v1/responses", {"input": told})):
        answered = bob.post(path, json=body)
        assert answered.headers["X-Session-Id"] != world.session
        assert answered.json()["jiyi"]["memories_used"] == []
    assert dump(alice.user) == before
    assert alice.post("/v1/responses", json=response).headers["X-Session-Id"] == world.session


def test_what_one_person_said_is_not_recalled_for_another(alice: ApiClient, bob: ApiClient, world: World):
    before = dump(alice.user)
    turn = bob.say(bob.new_session(), f"{SECRET}?").raise_for_status().json()
    assert turn["memories_used"] == []
    assert dump(alice.user) == before


def test_the_world_compared_above_has_rows_of_every_kind(alice: ApiClient, world: World):
    assert {name for name, rows in dump(alice.user).items() if rows} == {
        "accounts.ApiToken.user",
        "accounts.Setting.user",
        "chat.Edit.user",
        "chat.Turn.user",
        "conversations.Attachment.user",
        "conversations.Message.user",
        "conversations.Session.user",
        "conversations.Work.user",
        "doors.ImportItem.user",
        "doors.PastImport.user",
        "memory.Change.actor",
        "memory.ContextEntry.user",
        "memory.SharedContext.user",
        "profile.ProfileProposal.user",
        "profile.ProfileVersion.user",
        "profile.UserProfile.user",
        "memory.Change.user",
        "memory.AtomicEmbedding.user",
        "memory.AtomicMemory.user",
        "memory.ConversationEmbedding.user",
        "memory.ForgottenKey.user",
        "memory.LongTermEmbedding.user",
        "memory.LongTermMemory.user",
        "memory.WorkingMemory.user",
        "memory.WorkingMemoryRevision.user",
        "summaries.SessionSummary.user",
    }
