"""A person with one of everything in two spaces and in none: from each place they see it and what is everywhere.

The person is an end user of a service, which has a token for all that is theirs and one for each space. Another end
user of it has a space of the same name.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import Q, QuerySet
from django.utils import timezone

from apps.accounts.models import Space, User
from apps.accounts.services.people import create_token, get_or_create_end_user
from apps.accounts.spaces import get_or_create_space
from apps.accounts.types import Sight
from apps.conversations.models import Message, Session
from apps.conversations.worker import claim_batch, claim_rounds, claim_session
from apps.doors.mcp.server import TOOLS
from apps.doors.models import PastImport
from apps.extraction import tasks
from apps.extraction.run import extract
from apps.memory.archive import archive_working_memory
from apps.memory.kinds import KINDS
from apps.memory.models import AtomicMemory, Change, LongTermMemory, SharedContext, WorkingMemory
from apps.summaries.models import SessionSummary
from tests.contracts.routes import list_api_calls, name_call
from tests.contracts.test_isolation import EVERYTHING, LISTS, MEMORY, OBJECT_CALLS, OTHER_READS, SUMMARY, send
from tests.contracts.world import World, build_world, dump
from tests.support.http_server import ApiClient, HttpServer
from tests.support.mcp import McpCaller

pytestmark = [pytest.mark.spec("P2", "P5"), pytest.mark.long_except("test_every_operation_keeps_to_its_space")]

# A word that is in every text of a place, and in no other.
EVERYWHERE, NOVEL, GARDEN, OTHERS = "violet", "sunflower", "orchid", "dahlia"
WORDS = (EVERYWHERE, NOVEL, GARDEN, OTHERS)
ALL_WORDS = " ".join(WORDS)


@dataclass(frozen=True)
class Place:
    """Where somebody looks from: the space called like the `word`, or none."""

    word: str
    client: ApiClient
    world: World
    mcp: McpCaller

    @property
    def space(self) -> uuid.UUID | None:
        return self.client.user.sight.space

    def sees(self, field: str) -> Q:
        """What is here and what is everywhere."""
        return Q(**{f"{field}__isnull": True}) | Q(**{field: self.space})


@dataclass(frozen=True)
class Places:
    """The places of the person, and that of the other; `owner` looks from above."""

    owner: ApiClient
    everywhere: Place
    novel: Place
    garden: Place
    other: Place

    @property
    def user(self) -> User:
        return self.owner.user

    def elsewhere(self, place: Place) -> set[str]:
        """The words and IDs of what is not seen from a place of the person."""
        hidden = [one for one in (self.novel, self.garden, self.other) if one is not place]
        signs = {text for one in hidden for text in (one.word, *one.world.ids.values()) if text and text != "jiyi"}
        return signs - {NOVEL} if place is self.other else signs  # their own space is called so


@pytest.fixture
def places(http_server: HttpServer) -> Iterator[Places]:
    shop = User.objects.create_user("shop")
    mei, lin = (get_or_create_end_user(service=shop, external_id=name) for name in ("mei", "lin"))
    clients: list[ApiClient] = []

    def make(user: User, word: str, space: str | None) -> Place:
        own = space and get_or_create_space(user=user, name=space, kind="project")
        bound = space and get_or_create_space(user=shop, name=space, kind="project")
        token = create_token(user=shop, is_service=True, space=bound or None)
        client = ApiClient(http_server, user.within(own.id if own else None), token=token)
        clients.append(client)
        world = build_world(client, secret=word)
        return Place(word, client, world, McpCaller(token, headers={"X-End-User": user.external_id}))

    owner = ApiClient(http_server, mei, token=create_token(user=shop, is_service=True))
    yield Places(
        owner, make(mei, EVERYWHERE, None), make(mei, NOVEL, NOVEL), make(mei, GARDEN, GARDEN), make(lin, OTHERS, NOVEL)
    )
    for client in (owner, *clients):
        client.close()


def test_every_operation_keeps_to_its_space(subtests: pytest.Subtests, places: Places) -> None:
    novel, before = places.novel, {user: dump(user) for user in (places.user, places.other.client.user)}
    for there in (places.garden, places.other, places.everywhere):
        session = {"session_id": there.world.session}
        naming = [
            ("post", "/memory/long-term", {**MEMORY, **session}),
            ("post", "/memory/atomic", {"content": "c", **session}),
            ("post", "/summaries", {**SUMMARY, **session}),
        ]
        calls = [
            (name_call(route), method, send(novel.client, route, method, there.world)) for route, method in OBJECT_CALLS
        ]
        calls += [(path, method, novel.client.request(method, path, json=body)) for method, path, body in naming]
        for path, method, answer in calls:
            with subtests.test(there.word, path=path, method=method):
                if there is places.everywhere and method == "get":
                    assert answer.status_code in (200, 403, 404)  # 403: what concerns all of a person
                else:
                    assert answer.status_code in (403, 404)
                told = places.elsewhere(novel) - {there.world.ids["response_id"]}  # a 404 of it repeats what was asked
                assert not [sign for sign in told if sign in answer.text]
                if answer.status_code == 403:
                    assert "within a space" in answer.text
        missing = novel.client.post("/memory/long-term/batch-delete", json={"ids": [there.world.pending]})
        assert missing.json() == {"deleted": 0, "missing": [there.world.pending]}
    assert {user: dump(user) for user in before} == before


SPACE_FIELDS = {SessionSummary: "session__space"}


def list_seen(place: Place, model: Any, **conditions: Any) -> set[str]:
    """The IDs of the rows that are seen from a place; of changes their operations."""
    field = "operation" if model is Change else "id"
    rows: QuerySet[Any] = model.objects.filter(user=place.client.user, **conditions)
    seen = Q(id=place.space) if model is Space else place.sees(SPACE_FIELDS.get(model, "space"))
    return set(map(str, rows.filter(seen).values_list(field, flat=True)))


def test_lists_hold_what_is_everywhere_and_here(subtests: pytest.Subtests, places: Places) -> None:
    for place in (places.novel, places.garden, places.other):
        for route, method in list_api_calls():
            if method != "get" or route.parameters:
                continue
            query, model = LISTS.get(route.name) or (OTHER_READS[route.name], None)
            answer = place.client.get(route.template + query)
            with subtests.test(place.word, path=route.template):
                assert not [sign for sign in places.elsewhere(place) if sign in answer.text]
                if model is PastImport or answer.status_code == 403:
                    assert "within a space" in answer.text
                elif model is not None:
                    rows = answer.raise_for_status().json()["results"]
                    assert {row["operation" if model is Change else "id"] for row in rows} == list_seen(place, model)


def test_searches_and_turns_find_what_is_everywhere_and_here(places: Places) -> None:
    everywhere = {places.everywhere.word}
    for place in (places.novel, places.garden):
        client, seen = place.client, everywhere | {place.word}
        found = client.get(f"/memory/long-term/search?q={ALL_WORDS}&limit=50").json()["results"]
        assert {row["memory"]["id"] for row in found} == list_seen(place, LongTermMemory, status="active")
        found = client.get(f"/memory/atomic/search?q={ALL_WORDS}&top_n=50").json()["results"]
        mine = {place.world.atomic, places.everywhere.world.atomic}
        assert mine <= {row["memory"]["id"] for row in found} <= list_seen(place, AtomicMemory, status="active")
        rows = client.post("/memory/conversations/search", json={**EVERYTHING, "query": ALL_WORDS}).json()
        rows = rows["results"] if isinstance(rows, dict) else rows
        sessions = {place.world.session, places.everywhere.world.session}
        assert sessions <= {row["chat_id"] for row in rows} <= list_seen(place, Session)
        for word in WORDS:
            assert bool(client.get(f"/chat/search?q={word}&mode=words").json()["results"]) == (word in seen), word
        context = client.get(f"/chat/sessions/{place.world.session}/context?message={ALL_WORDS}").json()
        told = "".join(layer["content"] for layer in context["layers"] if layer["index"] < 6)
        assert {word for word in WORDS if word in told} == seen
        turn = client.say(client.new_session(), ALL_WORDS).raise_for_status().json()
        assert turn["memories_used"]
        texts = " ".join(used["text"] for used in turn["memories_used"])
        assert {word for word in WORDS if word in texts} == seen
        assert Message.objects.get(id=turn["user_message"]["id"]).session.space_id == place.space
    # Who is bound to no space sees all in lists; a turn in no space is told what is everywhere.
    turn = places.owner.say(places.owner.new_session(), ALL_WORDS).raise_for_status().json()
    texts = " ".join(used["text"] for used in turn["memories_used"])
    assert {word for word in WORDS if word in texts} == everywhere


def test_tools_and_resources_keep_to_their_space(places: Places) -> None:
    novel, everywhere = places.novel, places.everywhere
    expected = list_seen(novel, LongTermMemory, status="active") | list_seen(novel, AtomicMemory, status="active")
    searched: dict[str, dict[str, Any]] = {
        "search_memories": {"keyword": ALL_WORDS},
        "search_conversations": {"query": ALL_WORDS},
    }
    for mcp, named in ((novel.mcp, {}), (everywhere.mcp, {"space": NOVEL})):
        results = {name: mcp.call(name, **asked, **named) for name, asked in searched.items()}
        results["list_session_summaries"] = mcp.call("list_session_summaries", **named)
        assert {row["id"] for row in results["search_memories"]["results"]} == expected
        summaries = {row["id"] for row in results["list_session_summaries"]["results"]}
        assert summaries == {novel.world.summary, everywhere.world.summary}
        assert not [sign for sign in places.elsewhere(novel) if sign in str(results)]
    assert {row["id"] for row in novel.mcp.read("jiyi://memories/recent")["results"]} == expected
    told = everywhere.mcp.call("search_memories", keyword=ALL_WORDS)
    assert not [sign for sign in places.elsewhere(everywhere) if sign in str(told)]
    assert [space["name"] for space in novel.mcp.call("list_spaces")["results"]] == [NOVEL]
    assert novel.mcp.read("jiyi://profile")["background"] == novel.mcp.call("get_profile")["background"] == EVERYWHERE
    before = {user: dump(user) for user in (places.user, places.other.client.user)}
    for there in (places.garden, places.other, everywhere):
        world = there.world
        refused: dict[str, dict[str, Any]] = {
            "update_memory": {"id": world.atomic, "content": "taken over"},
            "delete_memory": {"id": world.atomic, "copies": True},
            "mute_memory": {"id": world.pending},
            "updateContext": {"id": world.context, "text": "taken over"},
            "move_memories": {"ids": [world.atomic]},
            "search_memories": {"keyword": "x", "space": GARDEN},
        }
        if there is not everywhere:
            refused |= {"read_conversation": {"session_id": world.session}, "fetchContext": {"id": world.context}}
        for name, asked in refused.items():
            assert novel.mcp.fail(name, **asked), name
    assert {user: dump(user) for user in before} == before
    made = novel.mcp.call("add_memory", content=f"A new {NOVEL}.")["memory"]["id"]
    context = novel.mcp.call("createContext", title="t", content="c")["id"]
    assert AtomicMemory.objects.get(id=made).space_id == SharedContext.objects.get(id=context).space_id == novel.space
    tools = set(searched) | set(refused) | {"list_session_summaries", "list_spaces", "get_profile", "add_memory"}
    assert tools | {"createContext", "read_conversation", "fetchContext"} == set(TOOLS)


def test_background_work_keeps_to_the_space_of_its_conversation(places: Places) -> None:
    now = timezone.now()
    for place in (places.novel, places.garden, places.everywhere):
        say = f"I keep a {place.word} in the hall. Remember that my {place.word} is called {place.word}son."
        place.client.say(place.client.new_session(), say).raise_for_status()
    while batch := claim_batch("spaces"):
        tasks.embed_messages(batch)
    runs: list[str] = []
    for claim_next, run in ((claim_rounds, extract), (claim_session, tasks.summarize_session)):
        while claim := claim_next("spaces"):
            session = Session.objects.get(id=claim.work[0].session_id)
            assert claim.user.sight == Sight(session.space_id)
            run(claim)
            runs.append(run.__name__)
    for row in WorkingMemory.objects.filter(user=places.user).select_related("user"):
        archive_working_memory(user=row.user, session_id=row.session_id, now=now + timedelta(days=1))
    for place in (places.novel, places.garden, places.everywhere):
        for kind in KINDS:
            kept = kind.model.objects.filter(user=places.user, space=place.space)
            said = str([kind.describe(vars(row)) for row in kept])
            assert {word for word in WORDS if word in said} == {place.word}, said
        told = SessionSummary.objects.filter(user=places.user, session__space=place.space)
        assert {word for word in WORDS if word in str(list(told.values("title", "snippet")))} == {place.word}
    assert set(runs) == {"extract", "summarize_session"}
