"""The client against the running product: every method does what it says, for a person with one of everything."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.services.people import create_token
from jiyi import UNSET, AsyncJiyi, Jiyi
from jiyi.errors import NotFound
from jiyi.types import Done
from tests.client.test_contract import METHODS, describe
from tests.contracts.world import World, build_world
from tests.support.answers import answer
from tests.support.http_server import ApiClient, HttpServer
from tests.support.scripted_model import ScriptedModel

pytestmark = pytest.mark.long_except("test_none_clears_a_time_and_unset_leaves_it")

# What a method is called with where its parameters do not say it; `describe` makes up the rest.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "atomic.list": {"status": "all", "since": datetime(2020, 1, 1, tzinfo=UTC), "ordering": "timestamp"},
    "contexts.list": {"ordering": "-updated_at"},
    "summaries.list": {"ordering": "-created_at"},
    "long_term.list": {"status": ["active", "pending"], "muted": False, "ordering": "-key", "limit": 1},
    "long_term.create": {"key": "created", "session_id": None},
    "long_term.replace": {"key": "replaced"},
    "atomic.replace": {"content": "replaced"},
    "atomic.create": {"session_id": None, "event_start": None, "event_end": None, "timestamp": None},
    "sessions.attach": {"file": b"text", "name": "notes.txt"},
    "sessions.create": {"model": ""},
    "sessions.update": {"model": "", "title": "changed"},
    "sessions.record": {"messages": [{"role": "user", "content": "Hi", "create_time": "2020-01-01T00:00:00Z"}]},
    "settings.update": {"changes": {"memory.retrieval_limit": 7}},
    "profile.replace": {"sections": {"work": "gardener"}},
    "imports.preview": {"file": b'{"role": "user", "content": "Hi"}', "format": "plain"},
    "imports.create": {"file": b'{"role": "user", "content": "Hi"}', "format": "plain"},
    "account.erase": {"confirm": "alice"},
}


@pytest.fixture
def world(alice: ApiClient) -> World:
    return build_world(alice)


def make_arguments(name: str, world: World) -> dict[str, Any]:
    """Arguments with which a method of the owner succeeds."""
    signature = inspect.signature(METHODS[name].describe)
    ids = world.ids | {
        "object_id": world.pending,
        "chat_id": world.session,
        "ids": [world.pending],
        "file": b"[]",
        "q": "violet",
        "snippet": "violets",
    }
    if name in ("messages.turn", "messages.forget_candidate"):
        ids["message_id"] = world.reply
    if name in ("atomic.accept", "atomic.reject"):
        ids["atomic_id"] = world.pending_atomic
    required = {
        key: parameter
        for key, parameter in list(signature.parameters.items())[1:]
        if parameter.default is parameter.empty
    }
    made = {key: value for key, value in ids.items() if key in signature.parameters}
    request = describe(METHODS[name])
    sent = {**(request.body or {}), **request.query, **request.ids}
    made |= {key: sent[key] for key in required if key in sent and key not in made}
    return made | ARGUMENTS.get(name, {})


def rank(name: str) -> int:
    """The place of a method in an order in which none takes from another what it needs."""
    method = name.partition(".")[2]
    if method in ("accept", "reject", "accept_proposal", "reject_proposal"):
        return 1
    if name in ("summaries.create", "sessions.delete"):  # a session has one summary
        return 4 if name == "summaries.create" else 5
    last = {"forget_candidate": 2, "delete": 3, "batch_delete": 3, "clear": 4, "erase": 6}
    return last.get(method, 2 if name.startswith("profile.") else 0)


# Methods that need what others have used up.
ALTERNATIVES = {
    "long_term.reject",
    "atomic.reject",
    "profile.reject_proposal",
    "long_term.batch_delete",
    "imports.undo",
}


# Methods about the newest messages of a conversation, which have a test of their own.
CHANGING_WHAT_WAS_SAID = {
    "messages.regenerate",
    "messages.stream_regenerate",
    "messages.edit",
    "messages.stream_edit",
    "messages.undo_edit",
}


@pytest.mark.parametrize("alternatives", [False, True])
def test_every_method_is_answered_as_it_says(alternatives: bool, client: Jiyi, world: World):
    elsewhere = {"sessions.stream", "messages.stream_retry", "changes.undo", *CHANGING_WHAT_WAS_SAID}
    chosen = [name for name in METHODS if name not in elsewhere and (name in ALTERNATIVES) is alternatives]
    for name in sorted(chosen, key=rank):
        part, _, method = name.partition(".")
        answer_ = getattr(getattr(client, part), method)(**make_arguments(name, world))
        if method in ("delete", "clear"):
            assert answer_ >= 1, name


async def test_the_asynchronous_client_does_the_same(async_client: AsyncJiyi, world: World):
    for name in ("sessions.messages", "long_term.search", "atomic.update", "profile.get", "working.get"):
        part, _, method = name.partition(".")
        await getattr(getattr(async_client, part), method)(**make_arguments(name, world))
    found = [memory async for memory in async_client.atomic.iterate(status="all", limit=1)]
    assert {memory.id for memory in found} == {world.atomic, world.pending_atomic}
    await async_client.long_term.delete(world.pending)
    with pytest.raises(NotFound):
        await async_client.long_term.get(world.pending)


def test_a_reply_is_regenerated_and_a_message_edited_and_both_with_events(client: Jiyi):
    session = client.sessions.create()
    said = client.sessions.send(session.id, "one").user_message
    assert said is not None
    turn = client.messages.regenerate(said.id)
    assert client.sessions.messages(session.id).results[0].content == "one"
    *_, done = client.messages.stream_regenerate(turn.assistant_message.id)
    assert isinstance(done, Done)
    assert not done.turn.assistant_message.stopped
    second = client.messages.edit(said.id, "two").user_message
    assert second is not None
    *_, done = client.messages.stream_edit(second.id, "three")
    assert isinstance(done, Done)
    assert done.turn.user_message is not None
    (edit,) = client.sessions.edits(session.id).results
    assert (edit.message_id, edit.messages) == (done.turn.user_message.id, 2)
    assert client.messages.undo_edit(edit.message_id).messages == 2
    assert client.sessions.messages(session.id).results[0].content == "two"


def test_iterating_asks_for_page_after_page(client: Jiyi):
    made = [client.atomic.create(content=f"The user owns {n} chairs.", tags=["chairs"]).id for n in range(2, 7)]
    assert [memory.id for memory in client.atomic.iterate(limit=2, tags=["chairs"])] == made[::-1]
    assert [memory.id for memory in client.atomic.iterate(limit=2, offset=3)] == made[:2][::-1]
    page = client.atomic.list(limit=2)
    assert (page.count, len(page.results), page.previous) == (5, 2, None)


def test_a_turn_and_what_it_left(client: Jiyi, model: ScriptedModel):
    model.script(answer("记住了。", topic="moving", entries=[{"category": "fact", "key": "home", "value": "York"}]))
    session = client.sessions.create(title="Moving")
    turn = client.sessions.send(session.id, "I moved to York.")
    assert turn.assistant_message.content == "记住了。"
    assert [(update.action, update.key, update.value) for update in turn.memory_updates] == [
        ("created", "home", "York")
    ]
    assert turn.working_memory.current_topic == "moving"
    assert client.messages.turn(turn.assistant_message.id) == turn
    assert (
        client.working.update(session.id, current_topic=None, context_variables={"city": "York"}).current_topic is None
    )
    layers = client.sessions.context(session.id, message="Where is my home?").layers
    assert "York" in next(layer for layer in layers if layer.index == 3).content
    assert client.messages.collect(turn.user_message.id).is_collected
    undone = client.changes.undo(client.changes.list(kind="long_term").results[0].operation)
    assert [change.action for change in undone] == ["undo"]


@pytest.mark.spec("T4")
def test_a_service_speaks_for_its_end_users(http_server: HttpServer):
    service = User.objects.create_user("shop")
    token = create_token(user=service, is_service=True)
    with Jiyi(http_server.url, token, end_user="小明 100%/7") as ming:
        others = [ming.with_options(end_user="u-2"), ming.with_options(end_user=None)]
        memory = ming.long_term.create(category="fact", key="home", value="成都")
        assert [ming.long_term.list().count, *[other.long_term.list().count for other in others]] == [1, 0, 0]
        for other in others:
            with pytest.raises(NotFound):
                other.long_term.get(memory.id)
        with Jiyi(http_server.url, token, end_user="小明 100%/7") as again:
            assert again.long_term.get(memory.id).value == "成都"
    assert User.objects.get(service=service, external_id="小明 100%/7")


def test_none_clears_a_time_and_unset_leaves_it(client: Jiyi):
    now = timezone.now()
    memory = client.atomic.create(content="The user flies to 成都.", event_start=now, event_end=now)
    assert memory.event_start == now
    assert client.atomic.update(memory.id, event_start=UNSET, event_end=None).event_end is None
    assert client.atomic.get(memory.id).event_start == now
