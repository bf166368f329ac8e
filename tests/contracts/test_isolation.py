"""One person with one of everything, and others who try every call: nothing of it is there for them or changed by them.

The person is an end user of a service (T4). The others come as near as can be: another of the same service, the one of
the same name at another service, the service itself, and somebody with an account of their own.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.db.models import Model

from apps.accounts.models import Space, User
from apps.accounts.services.people import create_token, get_or_create_end_user
from apps.conversations.models import Message, Session
from apps.doors.mcp.server import TOOLS
from apps.doors.models import PastImport
from apps.memory.models import AtomicMemory, Change, LongTermMemory, SharedContext
from apps.summaries.models import SessionSummary
from apps.tidying.models import Tidying
from apps.webhooks.models import Webhook
from tests.contracts.document import list_described, list_examples
from tests.contracts.routes import Route, list_api_calls, name_call
from tests.contracts.world import SECRET, World, build_world, dump
from tests.support.http_server import ApiClient, HttpServer
from tests.support.mcp import McpCaller

pytestmark = pytest.mark.spec("T4")

MEMORY = {"category": "fact", "key": "k", "value": "v"}
SUMMARY = {"title": "t", "snippet": "s"}
EVERYTHING = {"query": SECRET, "top_k": 50, "threshold": 0}

FILES = {"/chat/sessions/{session_id}/attachments": {"file": ("notes.txt", b"taken over")}}
# What to send where a body is needed: the owner of an object would be served (as `test_schema` proves).
BODIES = {
    (described.path, described.method): list_examples(described.request[1])[0]
    for described in list_described()
    if described.request and described.request[0] == "application/json"
}

# Lists by the names of their routes, what they are asked for to show everything, and whose rows they show.
LISTS: dict[str, tuple[str, type[Model]]] = {
    "sessions": ("?limit=200", Session),
    "memories": ("?limit=200&status=all", LongTermMemory),
    "atomic-memories": ("?limit=200&status=all", AtomicMemory),
    "shared-contexts": ("?limit=200", SharedContext),
    "summaries": ("?limit=200", SessionSummary),
    "changes": ("?limit=200", Change),
    "spaces": ("?limit=200", Space),
    "imports": ("?limit=200", PastImport),
    "tidyings": ("?limit=200", Tidying),
    "webhooks": ("?limit=200", Webhook),
}
OTHER_READS = {
    **dict.fromkeys(("memories-export", "settings", "profile", "export", "costs", "openai-models", "models"), ""),
    "search": f"?q={SECRET}",
    "memories-search": f"?q={SECRET}&limit=50",
    "atomic-search": f"?q={SECRET}&top_n=50",
}

# Whose objects are the same for everybody.
NOBODYS = {"openai-model"}
OBJECT_CALLS = [(route, method) for route, method in list_api_calls() if route.parameters and route.name not in NOBODYS]


@dataclass(frozen=True)
class People:
    """Who has one of everything, and who has nothing. `signs`: each word of the texts and each ID of the former."""

    owner: ApiClient
    world: World
    others: list[ApiClient]
    signs: set[str]

    def assert_silent(self, answer: Any, asked: str) -> None:
        """Fail where an answer gives anything of the owner away."""
        assert [sign for sign in self.signs if sign in answer.text] == [], asked


@pytest.fixture
def people(http_server: HttpServer) -> Iterator[People]:
    services = {name: User.objects.create_user(name) for name in ("shop", "clinic")}
    tokens = {name: create_token(user=account, is_service=True) for name, account in services.items()}

    def make_end_user(service: str, name: str) -> ApiClient:
        user = get_or_create_end_user(service=services[service], external_id=name)
        return ApiClient(http_server, user, token=tokens[service])

    owner = make_end_user("shop", "mei")
    others = [
        make_end_user("shop", "lin"),
        make_end_user("clinic", "mei"),
        ApiClient(http_server, services["shop"], token=tokens["shop"]),
        ApiClient(http_server, User.objects.create_user("bob")),
    ]
    world = build_world(owner)
    rows = [row for table in dump(owner.user).values() for row in table]
    ids = {str(row["id"]) for row in rows if isinstance(row.get("id"), uuid.UUID)}
    yield People(owner, world, others, {*SECRET.split(), *ids})
    for client in (owner, *others):
        client.close()


def connect(client: ApiClient) -> McpCaller:
    """A client of MCP for whom this one speaks for."""
    named = {"X-End-User": client.user.external_id} if client.user.external_id else {}
    return McpCaller(client.headers["Authorization"].removeprefix("Bearer "), headers=named)


def send(client: ApiClient, route: Route, method: str, world: World) -> Any:
    """Call the route for an object of this world."""
    body, files = BODIES.get((route.template, method)), FILES.get(route.template)
    return client.request(method, route.path(**world.values(route)), json=body, files=files)


def test_an_object_is_not_there_for_anybody_else(subtests: pytest.Subtests, people: People) -> None:
    world, before = people.world, dump(people.owner.user)
    assert sum(map(bool, before.values())) > 20  # the comparison is of rows of every kind
    session = {"session_id": world.session}
    naming = [
        ("get", f"/memory/long-term/search?q=violet&session_id={world.session}", None),
        ("post", "/memory/long-term", {**MEMORY, **session}),
        ("post", "/memory/atomic", {"content": "c", **session}),
        ("post", "/summaries", {**SUMMARY, **session}),
        ("post", "/memory/conversations/search", {**EVERYTHING, "chat_id": world.session}),
        ("post", "/memory/conversations/search", {**EVERYTHING, "space": world.space}),
        ("post", "/chat/sessions", {"space": world.space}),
        ("post", "/memory/atomic", {"content": "c", "space": world.space}),
        ("post", "/memory/contexts", {"title": "t", "content": "c", "space": world.space}),
        ("post", "/memory/move", {"ids": [world.pending], "space": world.space}),
        ("get", f"/memory/atomic?space={world.space}", None),
        ("get", f"/memory/atomic/search?q=violet&space={world.space}", None),
    ]
    for other in people.others:
        answers = [(name_call(route), method, send(other, route, method, world)) for route, method in OBJECT_CALLS]
        answers += [(path, method, other.request(method, path, json=body)) for method, path, body in naming]
        for path, method, answer in answers:
            with subtests.test(other.user.username, path=path, method=method):
                assert answer.status_code == 404
                assert answer.json()["error"]["code"] == "not_found"
                people.assert_silent(answer, path)
        missing = other.post("/memory/long-term/batch-delete", json={"ids": [world.pending]})
        assert missing.json() == {"deleted": 0, "missing": [world.pending]}
        moved = other.post("/memory/move", json={"ids": [world.pending], "space": None})
        assert moved.json() == {"moved": 0, "taken": [], "operation": None}
    assert dump(people.owner.user) == before


@pytest.mark.spec("T2")
def test_no_tool_or_resource_of_mcp_has_anything_of_somebody_else(people: People) -> None:
    world, before = people.world, dump(people.owner.user)
    reads: dict[str, dict[str, Any]] = {
        "search_memories": {"keyword": SECRET}, "search_conversations": {"query": SECRET}, "list_spaces": {},
        "get_profile": {}, "list_session_summaries": {},
    }  # fmt: skip
    resources = ("jiyi://profile", "jiyi://memories/recent")
    # Those that take an ID, each with what it calls what is not there.
    refused: dict[str, tuple[str, dict[str, Any]]] = {
        "update_memory": ("memory", {"id": world.atomic, "content": "taken over"}),
        "delete_memory": ("memory", {"id": world.atomic, "copies": True}),
        "mute_memory": ("memory", {"id": world.pending}),
        "read_conversation": ("session", {"session_id": world.session}),
        "fetchContext": ("context", {"id": world.context}),
        "updateContext": ("context", {"id": world.context, "text": "taken over"}),
    }
    writes: dict[str, dict[str, Any]] = {
        "add_memory": {"content": SECRET, "key": f"key {SECRET}"},
        "createContext": {"title": SECRET, "content": SECRET},
        "move_memories": {"ids": [world.atomic]},
    }
    assert {*reads, *refused, *writes} == set(TOOLS)
    for other in map(connect, people.others):
        told = str([*(other.call(name, **asked) for name, asked in reads.items()), *map(other.read, resources)])
        assert [sign for sign in people.signs if sign in told] == []
        for name, (what, asked) in refused.items():
            assert other.fail(name, **asked) == f"This {what} does not exist."
        for memory in (world.pending, world.atomic, world.pending_atomic):
            error = other.send("resources/read", {"uri": f"jiyi://memories/{memory}"}).json()["error"]
            assert error["message"] == "This memory does not exist."
        for name, asked in writes.items():
            other.call(name, **asked)
    assert dump(people.owner.user) == before
    owner = connect(people.owner)
    mine = {str(people.owner.user.long_term_memories.get(status="active").id), world.atomic}
    assert {found["id"] for found in owner.call("search_memories", keyword=SECRET)["results"]} == mine
    assert {found["id"] for found in owner.read("jiyi://memories/recent")["results"]} == mine
    assert owner.call("get_profile")["background"] == SECRET
    assert [found["id"] for found in owner.call("list_session_summaries")["results"]] == [world.summary]


def test_lists_and_searches_hold_exactly_what_is_ones_own(subtests: pytest.Subtests, people: People) -> None:
    for person in (people.owner, *people.others):
        answers = []
        for route, method in list_api_calls():
            if method == "get" and not route.parameters:
                query, model = LISTS.get(route.name) or (OTHER_READS[route.name], None)
                answer = person.get(route.template + query).raise_for_status()
                answers.append((route.template, answer))
                if model is not None:
                    field = "operation" if model is Change else "id"
                    mine = set(map(str, model._default_manager.filter(user=person.user).values_list(field, flat=True)))
                    assert {row[field] for row in answer.json()["results"]} == mine, route.template
                    assert answer.json()["count"] == len(mine)
        answers.append(("search", person.post("/memory/conversations/search", json=EVERYTHING).raise_for_status()))
        if person is people.owner:
            assert sum("violet" in answer.text for _path, answer in answers) > len(answers) / 2
        else:
            for path, answer in answers:
                with subtests.test(person.user.username, path=path):
                    people.assert_silent(answer, path)


def test_what_others_clear_import_and_say_leaves_everything(people: People) -> None:
    owner, before = people.owner, dump(people.owner.user)
    taken = owner.get("/memory/long-term/export").content
    for other in people.others:
        turn = other.say(other.new_session(), f"{SECRET}?").raise_for_status().json()
        assert turn["memories_used"] == []
        imported = other.post("/memory/long-term/import", files={"file": ("memories.json", taken)})
        assert imported.json() == {"created": 2, "updated": 0, "skipped": 0, "refused": [], "errors": []}
        assert other.post("/memory/atomic", json={"content": SECRET}).status_code == 201
        assert other.delete("/memory/long-term?confirm=all").json() == {"deleted": 2}
        assert other.delete("/memory/atomic?confirm=all").json()["deleted"] >= 1
        assert other.put("/profile", json={"background": "Bob's"}).json()["version"] == 1
        assert other.delete("/profile").json() == {"deleted": 1}
        assert other.get("/memory/settings").json()["memory.timezone"] == "UTC"
        assert other.patch("/memory/settings", json={"memory.timezone": "Asia/Tokyo"}).status_code == 200
        name = other.user.external_id or other.user.username
        assert other.post("/memory/erase", json={"confirm": name}).json()["verified"]
        assert dump(owner.user) == before
    assert owner.get("/memory/settings").json()["memory.timezone"] == "Asia/Shanghai"


@pytest.mark.long
def test_a_field_that_nobody_knows_is_refused_and_nothing_changes(subtests: pytest.Subtests, people: People) -> None:
    before = dump(people.owner.user)
    for route, method in list_api_calls():
        body = BODIES.get((route.template, method))
        if body is not None and not route.template.startswith("/v1/"):  # tests/doors says what those refuse
            with subtests.test(name_call(route), method=method):
                path = route.path(**people.world.values(route))
                response = people.owner.request(method, path, json={**body, "vlaue": 1})
                assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid")
                assert "vlaue" in response.json()["error"]["fields"]
    assert dump(people.owner.user) == before


@pytest.mark.long
def test_what_a_client_of_openais_api_continues_has_to_be_its_persons(people: People) -> None:
    world, before = people.world, dump(people.owner.user)
    asked: dict[str, Any] = {"role": "user", "content": "hello"}
    session = {"X-Session-Id": world.session}
    response = {"input": "hello", "previous_response_id": world.ids["response_id"]}
    item = {"type": "item_reference", "id": world.ids["response_id"].replace("resp", "msg")}
    told = [
        {"role": "user", "content": SECRET},
        {"role": "assistant", "content": Message.objects.get(id=world.reply).content},
        {"role": "user", "content": f"{SECRET}?"},
    ]
    for other in people.others:
        for path, body, headers in (
            ("/v1/chat/completions", {"messages": [asked]}, session),
            ("/v1/responses", {"input": [asked]}, session),
            ("/v1/responses", response, {}),
            ("/v1/responses", {"input": [item, asked]}, {}),
        ):
            for extra in ({}, {"stream": True}, {"store": False} if not headers else {}):
                refused = other.post(path, json={**body, **extra}, headers=headers)
                assert refused.status_code == 404, (path, body)
                people.assert_silent(refused, path)
        # The same history is no reason to find the owner's session.
        for path, body in (("/v1/chat/completions", {"messages": told}), ("/v1/responses", {"input": told})):
            answered = other.post(path, json=body)
            assert answered.headers["X-Session-Id"] != world.session
            assert answered.json()["jiyi"]["memories_used"] == []
    assert dump(people.owner.user) == before
    assert people.owner.post("/v1/responses", json=response).headers["X-Session-Id"] == world.session
