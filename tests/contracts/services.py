"""Two services with two end users each (T4), and what each of them sees and tries through every door.

Both services call their end users by the same names. A door that is added later adds a function to `LOOKS` and one to
`INTRUSIONS`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from django.db.models import Model

from apps.accounts.models import User
from apps.accounts.services.people import create_token, get_or_create_end_user
from apps.conversations.models import Session
from apps.gateway.models import PastImport
from apps.memory.models import AtomicMemory, Change, LongTermMemory, SharedContext
from apps.summaries.models import SessionSummary
from tests.contracts.routes import list_api_calls
from tests.contracts.test_isolation import BODIES, EVERYTHING, FILES
from tests.contracts.world import World, build_world, dump
from tests.support.http_server import ApiClient, HttpServer

SECRETS = {
    ("shop", "mei"): "紫罗兰 violet",
    ("shop", "lin"): "向日葵 sunflower",
    ("clinic", "mei"): "牡丹花 peony",
    ("clinic", "lin"): "茉莉花 jasmine",
}
"""What occurs in every text of each end user, and nowhere else."""


@dataclass
class Person:
    """An end user with one of everything, or a service's account, which has nothing and no `world`.

    `client` sends the token of the service and ``X-End-User``; its `headers` do for other clients.
    """

    client: ApiClient
    secret: str = ""
    world: World | None = None

    @property
    def user(self) -> User:
        return self.client.user

    @cached_property
    def signs(self) -> set[str]:
        """What gives this person away: each word of their texts and each ID of a row that they had at first."""
        rows = [row for table in dump(self.user).values() for row in table]
        keys = {str(row["id"]) for row in rows if isinstance(row.get("id"), uuid.UUID)}
        return {*self.secret.split(), *keys}


@dataclass(frozen=True)
class Services:
    """The end users, and the accounts of the services, which act for nobody."""

    end_users: list[Person]
    accounts: list[Person]

    def others(self, person: Person) -> list[Person]:
        """The end users who are not `person`."""
        return [other for other in self.end_users if other is not person]

    def intruders(self, victim: Person) -> list[Person]:
        """Who comes nearest to `victim`: another of their service, who has their name at the other one, the service."""
        mine = victim.user.service_id
        near = [one for one in self.others(victim) if (one.user.service_id == mine) != _same_name(one, victim)]
        return near + [account for account in self.accounts if account.user.pk == mine]

    def close(self) -> None:
        for person in (*self.end_users, *self.accounts):
            person.client.close()


def _same_name(one: Person, other: Person) -> bool:
    return one.user.external_id == other.user.external_id


class Answer(NamedTuple):
    """What somebody got: how they asked, and the whole text of the answer."""

    asked: str
    text: str


def make_services(server: HttpServer) -> Services:
    """Make both services and fill their end users' memories."""
    tokens: dict[str, str] = {}
    end_users, accounts = [], []
    for (name, external_id), secret in SECRETS.items():
        if name not in tokens:
            account = User.objects.create_user(name)
            tokens[name] = create_token(user=account, is_service=True)
            accounts.append(Person(ApiClient(server, account, token=tokens[name])))
        user = get_or_create_end_user(service=User.objects.get(username=name), external_id=external_id)
        client = ApiClient(server, user, token=tokens[name])
        end_users.append(Person(client, secret, build_world(client, secret=secret)))
    return Services(end_users, accounts)


# REST

REST = [(route, method) for route, method in list_api_calls() if not route.template.startswith("/v1/")]

LISTS: dict[str, tuple[str, type[Model]]] = {
    "sessions": ("", Session),
    "memories": ("?status=all", LongTermMemory),
    "atomic-memories": ("?status=all", AtomicMemory),
    "shared-contexts": ("", SharedContext),
    "summaries": ("", SessionSummary),
    "changes": ("", Change),
    "imports": ("", PastImport),
}
"""Routes of lists, what they are asked for to show everything, and whose rows they show."""

SEARCHES = {"search": "limit", "memories-search": "limit", "atomic-search": "top_n"}
"""Routes of searches, and how to ask for many results."""

OTHER_READS = {"models", "memories-export", "session-export", "settings", "profile", "export"}


def look_through_rest(person: Person) -> Iterator[Answer]:
    """Read everything that REST shows; lists hold exactly the person's rows, and objects of their own are there."""
    for route, method in REST:
        if method != "get":
            continue
        path = route.path(**person.world.values(route)) if person.world else route.template
        if route.parameters:
            if person.world:
                yield _read(person, path)
        elif route.name in LISTS:
            query, model = LISTS[route.name]
            answer = person.client.get(path + query + ("&" if query else "?") + "limit=200")
            answer.raise_for_status()
            _assert_exact(answer.json(), model, person)
            yield Answer(path, answer.text)
        elif route.name in SEARCHES:
            for secret in SECRETS.values():
                yield _read(person, path, params={"q": secret, SEARCHES[route.name]: 50})
        else:
            assert route.name in OTHER_READS, f"{route.template}: say here how to read everything"
            yield _read(person, path)
    for secret in SECRETS.values():
        found = person.client.post("/memory/conversations/search", json={**EVERYTHING, "query": secret})
        yield Answer(f"search {secret}", found.raise_for_status().text)


def intrude_through_rest(intruder: Person, victim: Person) -> Iterator[Answer]:
    """Name each thing of the victim in each call that takes an ID; all of it is not there for the intruder."""
    assert victim.world is not None
    for route, method in REST:
        if route.parameters:
            path, body = route.path(**victim.world.values(route)), BODIES.get((route.name, method))
            files = FILES.get((route.name, method))
            answer = intruder.client.request(method, path, json=body, files=files)
            assert answer.status_code == 404, (method, path, answer.text)
            yield Answer(f"{method} {path}", answer.text)
    world = victim.world
    for asked, body in (
        ("/memory/long-term", {"category": "fact", "key": "k", "value": "v", "session_id": world.session}),
        ("/memory/atomic", {"content": "c", "session_id": world.session}),
        ("/summaries", {"title": "t", "snippet": "s", "session_id": world.session}),
        ("/memory/conversations/search", {**EVERYTHING, "chat_id": world.session}),
    ):
        answer = intruder.client.post(asked, json=body)
        assert answer.status_code == 404, (asked, answer.text)
        yield Answer(asked, answer.text)
    missing = intruder.client.post("/memory/long-term/batch-delete", json={"ids": [world.pending]})
    assert missing.json() == {"deleted": 0, "missing": [world.pending]}


def _read(person: Person, path: str, **how: Any) -> Answer:
    return Answer(path, person.client.get(path, **how).raise_for_status().text)


def _assert_exact(page: dict[str, Any], model: type[Model], person: Person) -> None:
    field = "operation" if model is Change else "id"
    mine = {str(value) for value in model._default_manager.filter(user=person.user).values_list(field, flat=True)}
    assert {str(row[field]) for row in page["results"]} == mine
    assert page["count"] == len(mine)


# OpenAI's API


def look_through_openai(person: Person) -> Iterator[Answer]:
    """Ask about everybody's secrets without leaving a trace, and read an own response again."""
    for secret in SECRETS.values():
        chat = {"messages": [{"role": "user", "content": f"{secret}?"}], "store": False}
        for path, body in (("/v1/chat/completions", chat), ("/v1/responses", {"input": f"{secret}?", "store": False})):
            answer = person.client.post(path, json=body).raise_for_status()
            yield Answer(f"{path} {secret}", str(answer.json()["jiyi"]["memories_used"]))
    if person.world:
        yield _read(person, f"/v1/responses/{person.world.ids['response_id']}")


def intrude_through_openai(intruder: Person, victim: Person) -> Iterator[Answer]:
    """Name the victim's session, response and reply; none of it is there for the intruder."""
    assert victim.world is not None
    response = victim.world.ids["response_id"]
    asked: dict[str, Any] = {"role": "user", "content": "hello"}
    session = {"X-Session-Id": victim.world.session}
    reference = {"type": "item_reference", "id": response.replace("resp", "msg")}
    for method, path, body, headers in (
        ("get", f"/v1/responses/{response}", None, {}),
        ("post", "/v1/chat/completions", {"messages": [asked]}, session),
        ("post", "/v1/responses", {"input": [asked]}, session),
        ("post", "/v1/responses", {"input": [asked], "previous_response_id": response}, {}),
        ("post", "/v1/responses", {"input": [reference, asked]}, {}),
    ):
        answer = intruder.client.request(method, path, json=body, headers=headers)
        assert answer.status_code == 404, (path, body, answer.text)
        yield Answer(f"{method} {path}", answer.text)


LOOKS: list[Callable[[Person], Iterator[Answer]]] = [look_through_rest, look_through_openai]
"""By door: everything that somebody can see through it."""

INTRUSIONS: list[Callable[[Person, Person], Iterator[Answer]]] = [intrude_through_rest, intrude_through_openai]
"""By door: everything somebody can try with the IDs of somebody else; refusals are asserted there."""
