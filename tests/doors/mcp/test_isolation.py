"""Two services with two end users each: every tool and resource has exactly one person's data in it (T2, T4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from apps.accounts.models import User
from apps.accounts.services.people import create_token, get_or_create_end_user
from apps.doors.mcp.server import RESOURCES, TEMPLATES, TOOLS
from apps.memory.models import AtomicMemory
from tests.contracts.world import World, build_world, dump
from tests.support.http_server import ApiClient, HttpServer
from tests.support.mcp import McpCaller

pytestmark = pytest.mark.spec("T2", "T4")

# Both services call their end users so: the same name is another person in each.
NAMES = ("mei", "lin")

WORDS = {("shop", "mei"): "violet", ("shop", "lin"): "sunflower", ("bank", "mei"): "orchid", ("bank", "lin"): "dahlia"}


@dataclass(frozen=True)
class Person:
    """An end user of a service, whom its token names in a header. `word` is in every text of theirs."""

    user: User
    word: str
    world: World
    caller: McpCaller

    @property
    def memories(self) -> set[str]:
        """The IDs of the memories of both kinds that a search may find."""
        return {str(self.user.long_term_memories.get(status="active").id), self.world.atomic}


@pytest.fixture
def people(http_server: HttpServer) -> list[Person]:
    found = []
    for service_name in ("shop", "bank"):
        service = User.objects.create_user(service_name)
        token = create_token(user=service, is_service=True)
        for name in NAMES:
            user = get_or_create_end_user(service=service, external_id=name)
            word = WORDS[service_name, name]
            with ApiClient(http_server, user) as client:
                world = build_world(client, secret=word)
            found.append(Person(user, word, world, McpCaller(token, headers={"X-End-User": name})))
    return found


Refused = Callable[[McpCaller, Person], str]
# What has no ID: it returns what is the caller's.
READS: dict[str, Callable[[McpCaller], Any]] = {
    "search_memories": lambda caller: caller.call("search_memories", keyword=" ".join(WORDS.values())),
    "search_conversations": lambda caller: caller.call("search_conversations", query="violet sunflower orchid dahlia"),
    "list_spaces": lambda caller: caller.call("list_spaces"),
    "get_profile": lambda caller: caller.call("get_profile"),
    "list_session_summaries": lambda caller: caller.call("list_session_summaries"),
}

# What takes an ID: that of somebody else is not there.
REFUSED: dict[str, Refused] = {
    "update_memory": lambda caller, of: caller.fail("update_memory", id=of.world.atomic, content="taken over"),
    "delete_memory": lambda caller, of: caller.fail("delete_memory", id=of.world.atomic, copies=True),
    "mute_memory": lambda caller, of: caller.fail("mute_memory", id=of.world.pending),
    "read_conversation": lambda caller, of: caller.fail("read_conversation", session_id=of.world.session),
    "fetchContext": lambda caller, of: caller.fail("fetchContext", id=of.world.context),
    "updateContext": lambda caller, of: caller.fail("updateContext", id=of.world.context, text="taken over"),
}

# What makes something new, even with the words and keys of somebody else.
WRITES: dict[str, Callable[[McpCaller], Any]] = {
    "add_memory": lambda caller: [
        caller.call("add_memory", content="violet", key="key violet"),
        caller.call("add_memory", content="violet"),
    ],
    "createContext": lambda caller: caller.call("createContext", title="violet", content="violet"),
    "move_memories": lambda caller: caller.call(
        "move_memories", ids=[str(row.id) for row in AtomicMemory.objects.all()]
    ),
}


def test_the_tables_above_name_every_tool_and_resource() -> None:
    assert set(READS) | set(REFUSED) | set(WRITES) == set(TOOLS)
    assert [str(resource.uri) for resource in RESOURCES] == ["jiyi://profile", "jiyi://memories/recent"]
    assert [template.uri_template for template in TEMPLATES] == ["jiyi://memories/{id}"]


@pytest.mark.long
def test_everybody_reads_exactly_what_is_theirs(people: list[Person]) -> None:
    for person in people:
        caller, others = person.caller, set(WORDS.values()) - {person.word}
        results = {name: read(caller) for name, read in READS.items()}
        assert {one["id"] for one in results["search_memories"]["results"]} == person.memories
        assert results["get_profile"]["background"] == person.word
        assert [one["id"] for one in results["list_session_summaries"]["results"]] == [person.world.summary]
        results |= {uri: caller.read(uri) for uri in ("jiyi://profile", "jiyi://memories/recent")}
        assert {one["id"] for one in results["jiyi://memories/recent"]["results"]} == person.memories
        assert caller.read(f"jiyi://memories/{person.world.atomic}")["text"] == person.word
        assert caller.call("fetchContext", id=person.world.context)["content"] == person.word
        assert not [word for word in others if word in str(results)]


@pytest.mark.long
def test_nobody_reads_or_changes_what_is_somebody_elses(people: list[Person]) -> None:
    before = {person.user.pk: dump(person.user) for person in people}
    for person in people:
        for other in people:
            if other is person:
                continue
            for name, refused in REFUSED.items():
                kind = "context" if name.endswith("Context") else "session" if "conversation" in name else "memory"
                assert refused(person.caller, other) == f"This {kind} does not exist."
            for memory in (*other.memories, other.world.pending, other.world.pending_atomic):
                error = person.caller.send("resources/read", {"uri": f"jiyi://memories/{memory}"}).json()["error"]
                assert error["message"] == "This memory does not exist."
    assert {person.user.pk: dump(person.user) for person in people} == before
