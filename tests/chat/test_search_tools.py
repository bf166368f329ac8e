"""The tools that search and read past conversations: what they find, what they leave out, and how much of it (T5)."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.chat.inspect import State
from apps.chat.search_tools import READ_TOKENS
from apps.chat.toolbox import TOOLS
from apps.chat.tools import Caller
from apps.conversations.models import Message, MessageStatus, Role, Session
from apps.conversations.sessions import create_session, forget_rounds
from apps.core.errors import InvalidInput, NotFound, TooLarge
from apps.core.text.clean import estimate_tokens
from apps.memory.lifecycle import create_atomic_memory
from apps.memory.models import AtomicMemory
from tests.chat.inspection.test_rebuild import rebuild
from tests.support.answers import answer
from tests.support.factories import UserFactory
from tests.support.http_server import ApiClient
from tests.support.scripted_model import ScriptedModel, call, call_tools

pytestmark = [pytest.mark.spec("T5"), pytest.mark.django_db]

START = timezone.now().replace(year=2026, month=3, day=1)


def talk(user: User, *rounds: tuple[str, str], title: str = "", temporary: bool = False) -> list[Message]:
    """Store rounds of a new session, an hour apart; returns their messages."""
    session = create_session(user=user, title=title, temporary=temporary)
    said = []
    for at, (message, reply) in enumerate(rounds):
        common = {"session": session, "user": user, "create_time": START + timedelta(hours=at)}
        asked = Message.objects.create(role=Role.USER, content=message, position=2 * at + 1, **common)
        common["reply_to"] = asked
        said += [asked, Message.objects.create(role=Role.ASSISTANT, content=reply, position=2 * at + 2, **common)]
    Session.objects.filter(id=session.id).update(created_at=START, last_active_at=START + timedelta(hours=len(rounds)))
    return said


def run(user: User, tool: str, **arguments: Any) -> dict[str, Any]:
    return TOOLS[tool].run(Caller(user=user, author="assistant", now=timezone.now()), arguments)


def search(user: User, query: str, **bounds: str) -> list[str]:
    """The IDs of the messages that are found."""
    found = run(user, "search_conversations", query=query, **bounds)["results"]
    return [message["id"] for one in found for message in one["messages"]]


def read(user: User, session_id: object, around: object = None) -> dict[str, Any]:
    return run(user, "read_conversation", session_id=str(session_id), around=around and str(around))


def test_what_the_assistant_said_is_found_with_ids_and_times(mei: User) -> None:
    _asked, reply = talk(
        mei, ("Where shall we eat?", "Try the ramen place Menya, 拉面馆 on Hill Street."), title="Dinner"
    )
    for query in ("ramen Menya", "拉面馆"):
        (found,) = run(mei, "search_conversations", query=query)["results"]
        assert (found["session_id"], found["title"]) == (str(reply.session_id), "Dinner")
        (hit,) = found["messages"]
        assert (hit["id"], hit["role"], hit["text"]) == (str(reply.id), "assistant", reply.content)
        assert hit["time"].startswith(START.date().isoformat())


def test_a_search_keeps_to_its_time(mei: User) -> None:
    asked, _reply = talk(mei, ("The balloon is red.", "Nice."))
    assert search(mei, "balloon", since="2026-03-01", until="2026-03-01") == [str(asked.id)]
    assert search(mei, "balloon", until="2026-02-28") == search(mei, "balloon", since="2026-03-02") == []


def test_what_is_temporary_edited_away_forgotten_muted_or_anothers_is_left_out(mei: User) -> None:
    temporary = talk(mei, ("balloon", "balloon"), temporary=True)
    edited, forgotten, muted, kept = (talk(mei, ("balloon", "balloon")) for _time in range(4))
    others = talk(UserFactory(), ("balloon", "balloon"))
    Message.objects.filter(id__in=[message.id for message in edited]).update(status=MessageStatus.REPLACED)
    forget_rounds(user=mei, message_ids=[forgotten[0].id])
    memory, _new = create_atomic_memory(user=mei, content="A balloon.", now=timezone.now())
    AtomicMemory.objects.filter(id=memory.id).update(message_id=muted[0].id, muted=True)
    assert set(search(mei, "balloon")) == {str(message.id) for message in kept}
    for said in (edited, forgotten, muted):
        assert read(mei, said[0].session_id)["results"] == []
    for session_id in (temporary[0].session_id, others[0].session_id, uuid.uuid4()):
        with pytest.raises(NotFound):
            read(mei, session_id)
    for message in (others[0], edited[0], uuid.uuid4()):
        with pytest.raises(NotFound):
            read(mei, kept[0].session_id, around=getattr(message, "id", message))


def test_a_conversation_is_read_at_its_end_or_around_a_message(mei: User) -> None:
    said = talk(mei, *((f"question {at}", f"reply {at}") for at in range(30)))
    session_id = said[0].session_id
    end = read(mei, session_id)
    assert [message["id"] for message in end["results"]] == [str(message.id) for message in said[-11:]]
    assert (end["earlier"], end["later"]) == (49, 0)
    middle = read(mei, session_id, around=said[30].id)
    assert [message["id"] for message in middle["results"]] == [str(message.id) for message in said[20:41]]
    assert (middle["earlier"], middle["later"]) == (20, 19)
    assert read(mei, create_session(user=mei, title="t", temporary=False).id)["results"] == []


def test_long_texts_are_cut_and_the_message_itself_least(mei: User) -> None:
    said = talk(mei, *(("word " * 2_000, "话" * 5_000) for _at in range(9)))
    found = read(mei, said[0].session_id, around=said[9].id)
    texts = {message["id"]: message["text"] for message in found["results"]}
    assert 1 < len(texts) < 5
    assert sum(map(estimate_tokens, texts.values())) <= READ_TOKENS
    assert max(texts, key=lambda key: estimate_tokens(texts[key])) == str(said[9].id)
    assert found["earlier"] + len(texts) + found["later"] == len(said)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"query": " "}, InvalidInput),
        ({"query": "x" * 1_001}, TooLarge),
        ({"query": "x", "since": "yesterday"}, InvalidInput),
        ({"query": "x", "since": "2026-03-02", "until": "2026-03-01"}, InvalidInput),
        ({"query": "x", "top": 3}, InvalidInput),
    ],
)
def test_what_does_not_fit_is_refused(mei: User, arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        run(mei, "search_conversations", **arguments)


@pytest.mark.django_db(transaction=True)
def test_the_model_searches_and_reads_and_the_turn_keeps_what(alice: ApiClient, model: ScriptedModel) -> None:
    alice.patch("/memory/settings", json={"memory.enable_agentic_search": True}).raise_for_status()
    asked, reply = talk(alice.user, ("Which noodle place?", "Menya on Hill Street."))
    session = str(asked.session_id)
    searched = call("search_conversations", {"query": "noodle place"})
    model.script(
        call_tools(searched),
        call_tools(call("read_conversation", {"session_id": session, "around": str(asked.id)})),
        answer("Menya."),
    )
    turn = alice.say(alice.new_session(), "Which noodle place did you name?").raise_for_status().json()
    first, second = turn["tool_calls"]
    assert (first["name"], first["outcome"], first["keyword"]) == ("search_conversations", "ok", "noodle place")
    assert first["message_ids"] == [str(asked.id)], "and not the message that is being answered"
    assert second["message_ids"] == [str(asked.id), str(reply.id)]
    assert second["context_id"] is None
    pieces = [[piece.then for piece in made.pieces] for made in rebuild(alice, turn["assistant_message"]["id"]).calls]
    assert pieces == [["user: Which noodle place?"], ["user: Which noodle place?", "assistant: Menya on Hill Street."]]
    assert alice.delete(f"/chat/sessions/{session}").status_code == 200
    states = [piece.state for piece in rebuild(alice, turn["assistant_message"]["id"]).calls[1].pieces]
    assert states == [State.DELETED, State.DELETED]


@pytest.mark.django_db(transaction=True)
def test_rest_searches_within_a_time_and_lists_around_a_message(alice: ApiClient) -> None:
    said = talk(alice.user, *((f"balloon {at}", "Nice.") for at in range(5)))
    bounds = {"q": "balloon", "mode": "words", "until": (START + timedelta(minutes=90)).isoformat()}
    (found,) = alice.get("/chat/search", params=bounds).raise_for_status().json()["results"]
    assert {hit["id"] for hit in found["messages"]} == {str(said[0].id), str(said[2].id)}
    assert alice.get("/chat/search", params={**bounds, "since": "soon"}).status_code == 400
    path = f"/chat/sessions/{said[0].session_id}/messages"
    page = alice.get(path, params={"around": str(said[5].id), "limit": 3}).raise_for_status().json()
    assert [message["id"] for message in page["results"]] == [str(message.id) for message in said[4:7]]
    earlier = alice.get(page["previous"]).json()
    assert [message["id"] for message in earlier["results"]] == [str(message.id) for message in said[1:4]]
    assert alice.get(earlier["previous"]).json()["results"][0]["id"] == str(said[0].id)
    assert alice.get(path, params={"around": str(uuid.uuid4())}).status_code == 404
    assert alice.get(path, params={"around": "x"}).status_code == 404
