"""A request over any door is in a space: by a header, a model's name, an argument, or a bound token (P5)."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from django.utils import timezone

from apps.accounts.models import Space, User
from apps.accounts.services.people import create_token
from apps.accounts.spaces import create_space
from apps.conversations.models import Session
from apps.memory.kinds import ATOMIC
from apps.memory.lifecycle import create_atomic_memory
from apps.memory.models import AtomicMemory
from tests.support.answers import answer
from tests.support.http_server import ApiClient, HttpServer
from tests.support.mcp import McpCaller
from tests.support.scripted_model import ScriptedModel

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spec("P5")]

ASKED: Any = [{"role": "user", "content": "Who is the violet heroine?"}]
TEXTS = {
    None: "The violet heroine is Eve.",
    "Novel": "The violet heroine is Ada.",
    "Garten": "The violet heroine is Iris.",
}


def fill(user: User) -> dict[str | None, Space | None]:
    """Give the person two spaces, and a memory in each and outside."""
    spaces: dict[str | None, Space | None] = {None: None}
    spaces |= {name: create_space(user=user, name=name) for name in ("Novel", "Garten")}
    for name, space in spaces.items():
        create_atomic_memory(user=user.within(space.id if space else None), content=TEXTS[name], now=timezone.now())
    return spaces


def shown(model: ScriptedModel) -> set[str | None]:
    """Whose memories the newest prompt has."""
    prompt = str(model.chat_requests[-1].body)
    return {name for name, text in TEXTS.items() if text in prompt}


def ask(client: openai.OpenAI, *, model: str = "jiyi", **headers: str) -> Any:
    return client.chat.completions.with_raw_response.create(model=model, messages=ASKED, extra_headers=headers)


def test_a_chat_completion_is_in_the_space_it_names(
    client: openai.OpenAI, alice: ApiClient, model: ScriptedModel
) -> None:
    spaces = fill(alice.user)
    model.default = lambda request: answer("I see.")
    assert "jiyi/Novel" in [one.id for one in client.models.list()]
    for name, call in (
        (None, {}),
        ("Novel", {"X-Space": "novel"}),
        ("Garten", {"X-Space": str(spaces["Garten"].id)}),  # type: ignore[union-attr]
        ("Novel", {"model": "jiyi/Novel"}),
    ):
        answered = ask(client, **call)
        assert shown(model) == {None, name}
        session = Session.objects.get(id=answered.headers["X-Session-Id"])
        assert session.space == spaces[name]
    before = Session.objects.count()
    for wrong in ({"X-Space": "Nowhere"}, {"model": "jiyi/Nowhere"}, {"X-Space": "Novel", "model": "jiyi/Garten"}):
        with pytest.raises(openai.NotFoundError):
            ask(client, **wrong)
    with pytest.raises(openai.NotFoundError):  # a session of another space
        ask(client, **{"X-Space": "Garten", "X-Session-Id": str(session.id)})
    assert Session.objects.count() == before
    bound = {"Authorization": f"Bearer {create_token(user=alice.user, space=spaces['Novel'])}"}
    for name, status in (("Novel", 200), ("Garten", 404)):
        assert alice.get("/memory/atomic", headers={**bound, "X-Space": name}).status_code == status


def test_what_is_not_stored_is_answered_from_one_place_too(
    client: openai.OpenAI, alice: ApiClient, model: ScriptedModel
) -> None:
    fill(alice.user)
    model.default = lambda request: answer("I see.")
    client.chat.completions.create(model="jiyi", messages=ASKED, store=False)
    assert shown(model) == {None}
    client.responses.create(model="jiyi/Novel", input="Who is the violet heroine?", store=False)
    assert shown(model) == {None, "Novel"}


def test_a_service_bound_to_a_space_has_one_of_that_name_for_each_end_user(
    http_server: HttpServer, model: ScriptedModel
) -> None:
    service = User.objects.create_user("shop")
    token = create_token(
        user=service, is_service=True, space=create_space(user=service, name="Clerk", kind="assistant")
    )
    model.default = lambda request: answer("I see.")
    with openai.OpenAI(base_url=f"{http_server.url}/v1", api_key=token, max_retries=0) as client:
        client.chat.completions.create(model="jiyi", messages=ASKED, user="ann")
        client.chat.completions.create(model="jiyi", messages=ASKED, user="ann")
    ann = User.objects.get(external_id="ann")
    own = Space.objects.get(user=ann)
    assert (own.name, own.kind) == ("Clerk", "assistant")
    assert {session.space for session in Session.objects.filter(user=ann)} == {own}


@pytest.mark.spec("P4")
def test_tools_look_from_the_space_that_their_argument_names(mei: User) -> None:
    spaces = fill(mei)
    agent = McpCaller(create_token(user=mei))

    def find(**arguments: str) -> set[str]:
        return {one["text"] for one in agent.call("search_memories", keyword="violet heroine", **arguments)["results"]}

    assert find() == {TEXTS[None]}
    assert find(space="Novel") == {TEXTS[None], TEXTS["Novel"]}
    assert agent.fail("search_memories", keyword="x", space="Nowhere") == "There is no space of this name."
    assert [one["name"] for one in agent.call("list_spaces")["results"]] == ["Novel", "Garten"]
    added = agent.call("add_memory", content="Ada is left-handed.", space="novel")["memory"]
    assert AtomicMemory.objects.get(id=added["id"]).space == spaces["Novel"]
    assert agent.call("move_memories", ids=[added["id"]]) == {"moved": 1, "taken": []}
    assert "Ada is left-handed." in {one.content for one in ATOMIC.active(mei.within(None))}
    assert agent.call("move_memories", ids=[added["id"]], to="Garten")["moved"] == 1
