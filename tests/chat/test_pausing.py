"""Pausing what is remembered: everywhere, in a space, in a conversation, for one request (D5)."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import Space
from apps.accounts.services.people import create_token, update_settings
from apps.conversations.models import Message, Pause, Session, Work
from apps.conversations.pausing import find_pause
from apps.conversations.recordings import import_conversation
from apps.conversations.types import RecordedMessage
from apps.extraction import tasks
from apps.memory.archive import expire_working_memory
from apps.memory.entries import create_memory
from apps.memory.models import AtomicMemory, LongTermMemory, SharedContext, WorkingMemory
from apps.memory.recall.rounds import find_withheld, recall_rounds
from apps.summaries.models import SessionSummary
from tests.chat.inspection.test_rebuild import rebuild
from tests.support.answers import answer
from tests.support.http_server import ApiClient
from tests.support.mcp import McpCaller
from tests.support.scripted_model import RecordedRequest, ScriptedModel, call, call_tools

pytestmark = pytest.mark.spec("D5")

HOME = {"category": "fact", "key": "home", "value": "York", "source": "user_stated", "confidence": 0.95}
SAID = "I moved to York last week, into a house behind the minster."
BEFORE, AFTER = "I play the cello in an orchestra.", "My dentist is called Lin."


def pause(client: ApiClient, session: str, by: str, *, paused: bool = True) -> None:
    """Pause remembering in one of the three ways, or resume it."""
    if by == Pause.EVERYWHERE:
        client.patch("/memory/settings", json={"memory.paused": paused}).raise_for_status()
    elif by == Pause.SESSION:
        client.patch(f"/chat/sessions/{session}", json={"paused": paused}).raise_for_status()
    else:
        space = Session.objects.get(id=session).space_id
        client.patch(f"/memory/spaces/{space}", json={"paused": paused}).raise_for_status()


@pytest.fixture
def session(alice: ApiClient) -> str:
    """A session in a space whose memories are known everywhere."""
    space = alice.post("/memory/spaces", json={"name": "Novel", "learns_to": "everywhere"}).raise_for_status().json()
    return alice.new_session(space=space["id"])


def say(client: ApiClient, session: str, text: str) -> dict[str, Any]:
    turn: dict[str, Any] = client.say(session, text).raise_for_status().json()
    return turn


def count_learned() -> list[int]:
    return [model.objects.count() for model in (LongTermMemory, AtomicMemory, SharedContext)]


def work_of(message_id: str) -> set[str]:
    said = Message.objects.get(id=message_id)
    rows = Work.objects.filter(message__in=[said.id, *said.replies.values_list("id", flat=True)])
    return set(rows.values_list("kind", flat=True))


def do_background_work(model: ScriptedModel) -> list[str]:
    """Do all that is left to do, with a model that learns what it is shown; return the prompts of the extraction."""

    def learn(request: RecordedRequest) -> str:
        kind = (request.response_format or {})["json_schema"]["name"]
        if kind == "session_summary":
            return json.dumps({"title": "A talk", "snippet": "They talked."})
        return json.dumps({"memories": [], "summary": "They talked."})

    model.default = learn
    asked = len(model.chat_requests)
    for task in (tasks.extract, tasks.summarize, tasks.embed):
        task()
    assert not Work.objects.exists()
    return [str(request.messages) for request in model.chat_requests[asked:]]


@pytest.mark.parametrize("by", [Pause.EVERYWHERE, Pause.SPACE, Pause.SESSION])
def test_nothing_is_learned_and_everything_is_recalled(alice: ApiClient, model: ScriptedModel, session: str, by: str):
    create_memory(user=alice.user, category="fact", key="pet", value="a cat", now=timezone.now())
    pause(alice, session, by)
    model.script(answer("What is your cat doing in York?", entries=[HOME]))
    turn = say(alice, session, f"{SAID} My pet came along.")
    assert (turn["paused_by"], turn["user_message"]["paused_by"], turn["assistant_message"]["paused_by"]) == (by,) * 3
    assert [memory["text"] for memory in turn["memories_used"]] == ["pet: a cat"]
    assert (turn["memory_updates"], count_learned()) == ([], [1, 0, 0])
    assert work_of(turn["user_message"]["id"]) == {"summarize"}
    assert alice.get(f"/chat/messages/{turn['user_message']['id']}/turn").json()["paused_by"] == by
    rebuilt = rebuild(alice, turn["assistant_message"]["id"])
    assert "Remembering is paused" in rebuilt.layers[0].content
    assert rebuilt.exact is True
    # What a message is stored with is what `find_pause` says, and so is what the session shows.
    stored = Session.objects.select_related("space").get(id=session)
    assert find_pause(alice.user, session=stored) == by
    assert alice.get(f"/chat/sessions/{session}").json()["paused_by"] == by
    pause(alice, session, by, paused=False)
    assert alice.get(f"/chat/sessions/{session}").json()["paused_by"] is None
    assert alice.patch(f"/chat/sessions/{session}", json={"paused": "yes"}).status_code == 400


def test_the_widest_pause_is_told_and_resuming_it_shows_the_next(alice: ApiClient, session: str):
    for by in (Pause.SESSION, Pause.SPACE, Pause.EVERYWHERE):
        pause(alice, session, by)
        assert say(alice, session, "Hello.")["paused_by"] == by
    pause(alice, session, Pause.EVERYWHERE, paused=False)
    assert say(alice, session, "Hello.")["paused_by"] == Pause.SPACE
    assert say(alice, alice.new_session(), "Hello.")["paused_by"] is None


def test_it_belongs_to_the_message_and_not_to_the_time_of_the_work(
    alice: ApiClient, model: ScriptedModel, session: str
):
    model.default = lambda _request: answer("I see.")
    say(alice, session, BEFORE)
    pause(alice, session, Pause.SESSION)
    say(alice, session, SAID)
    first = do_background_work(model)
    assert BEFORE in str(first), "though remembering is paused since"
    pause(alice, session, Pause.SESSION, paused=False)
    model.default = lambda _request: answer("I see.")
    say(alice, session, AFTER)
    second = do_background_work(model)
    assert AFTER in str(second)
    assert "York" not in str([*first, *second])
    assert SessionSummary.objects.get().snippet == "They talked."


def test_a_later_turn_proposes_nothing_of_it(alice: ApiClient, model: ScriptedModel, session: str):
    model.default = lambda _request: answer("I see.")
    pause(alice, session, Pause.SESSION)
    say(alice, session, SAID)
    pause(alice, session, Pause.SESSION, paused=False)
    dentist = {**HOME, "key": "dentist", "value": "Lin"}
    model.default = lambda _request: answer("I see.", entries=[HOME, dentist])
    assert [update["key"] for update in say(alice, session, AFTER)["memory_updates"]] == ["dentist"]
    assert [memory.key for memory in LongTermMemory.objects.all()] == ["dentist"]


def test_another_reply_and_a_retry_are_of_the_message_as_it_was_said(
    alice: ApiClient, model: ScriptedModel, session: str
):
    model.default = lambda _request: answer("I see.", entries=[HOME])
    pause(alice, session, Pause.SESSION)
    message = say(alice, session, SAID)["user_message"]["id"]
    model.script(answer("", entries=[HOME]))
    failed = alice.say(session, "I live in York now.").json()["error"]["fields"]["message_id"]
    pause(alice, session, Pause.SESSION, paused=False)
    again = alice.post(f"/chat/messages/{failed}/retry").raise_for_status().json()
    anew = alice.post(f"/chat/messages/{failed}/regenerate").raise_for_status().json()
    assert [again["paused_by"], anew["paused_by"]] == [Pause.SESSION] * 2
    assert (count_learned(), work_of(failed), work_of(message)) == ([0, 0, 0], {"summarize"}, {"summarize"})


def test_no_other_conversation_is_told_of_it(alice: ApiClient, model: ScriptedModel, session: str):
    model.default = lambda _request: answer("I see.")
    pause(alice, session, Pause.SESSION)
    said = say(alice, session, SAID)
    ids = [said["user_message"]["id"], said["assistant_message"]["id"]]
    do_background_work(model)
    assert (
        recall_rounds(user=alice.user, message="Which house behind the minster?", limit=2, query_embedding=None) == []
    )
    assert {str(key) for key in find_withheld(alice.user, ids)} == set(ids)
    assert not SessionSummary.objects.exists()
    agent = McpCaller(create_token(user=alice.user, name="notebook"))
    assert agent.call("search_conversations", query="minster", space="Novel")["results"] == []
    read = agent.call("read_conversation", session_id=session, space="Novel")
    assert (read["title"], read["results"]) == ("", [])
    # Its owner finds it, as ever.
    (found,) = alice.get("/chat/search", params={"q": "minster", "mode": "words", "space": "all"}).json()["results"]
    assert found["session"]["id"] == session


def test_the_summary_of_a_long_conversation_is_its_own(alice: ApiClient, model: ScriptedModel, session: str):
    update_settings(user=alice.user, changes={"memory.summary_threshold": 4})
    model.default = lambda _request: answer("I see.")
    pause(alice, session, Pause.SESSION)
    for text in (SAID, "One.", "Two.", "Three."):
        say(alice, session, text)
    pause(alice, session, Pause.SESSION, paused=False)
    do_background_work(model)
    summary = Message.objects.get(role="summary")
    assert (summary.paused_by, summary.covers.count()) == (Pause.SESSION, 4)
    assert not summary.conversation_embeddings.exists()
    model.default = lambda _request: answer("I see.")
    say(alice, session, AFTER)
    assert "They talked" not in str(do_background_work(model)[:1])


@pytest.mark.parametrize("as_form", [False, True])
def test_its_working_memory_is_not_archived(alice: ApiClient, model: ScriptedModel, session: str, as_form: bool):
    update_settings(user=alice.user, changes={"memory.working_archive": True})
    model.default = lambda _request: answer("I see.", topic="York", variables={"city": "York"})
    pause(alice, session, Pause.SESSION)
    if as_form:
        form = {"title": "move", "fields": {"city": "York"}}
        reply = alice.post(f"/chat/sessions/{session}/hitl-forms", json=form).raise_for_status().json()
        assert (reply["paused_by"], reply["assistant_message"]["paused_by"]) == (Pause.SESSION, Pause.SESSION)
        assert work_of(reply["assistant_message"]["id"]) == {"summarize"}
    else:
        say(alice, session, SAID)
    pause(alice, session, Pause.SESSION, paused=False)
    assert WorkingMemory.objects.get().context_variables
    assert expire_working_memory(now=timezone.now() + timedelta(hours=1)) == 1
    assert count_learned() == [0, 0, 0]
    say(alice, session, "Hello.")
    expire_working_memory(now=timezone.now() + timedelta(hours=1))
    assert "York" in str(list(LongTermMemory.objects.values_list("value", flat=True)))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Remember that I am allergic to shrimp.", "Remembering is paused, so I did not store this"),
        ("记住我对虾过敏。", "记忆已暂停，所以没有记住"),
        (
            "Remember that I am allergic to shrimp. What do you remember about me?",
            "Not stored, as remembering is paused",
        ),
    ],
)
def test_remember_is_refused_in_words(alice: ApiClient, session: str, said: str, told: str):
    pause(alice, session, Pause.SESSION)
    turn = say(alice, session, said)
    assert told in turn["assistant_message"]["content"]
    (command,) = turn["commands"]
    assert (command["kind"], command["status"], command["operation"]) == ("remember", "paused", None)
    assert count_learned() == [0, 0, 0]
    assert rebuild(alice, turn["assistant_message"]["id"]).exact is True


def test_forget_and_what_do_you_remember_work(alice: ApiClient, session: str):
    create_memory(user=alice.user, category="preference", key="drink", value="tea", now=timezone.now())
    pause(alice, session, Pause.SESSION)
    assert "tea" in say(alice, session, "What do you remember about me?")["assistant_message"]["content"]
    turn = say(alice, session, "Forget my drink.")
    assert [command["status"] for command in turn["commands"]] == ["forgotten"]
    assert not LongTermMemory.objects.filter(status="active").exists()


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("createContext", {"title": "The move", "content": "To York."}),
        ("updateContext", {"id": "00000000-0000-0000-0000-000000000007", "text": "To York."}),
    ],
)
def test_a_tool_of_the_model_says_so(
    alice: ApiClient, model: ScriptedModel, session: str, tool: str, arguments: dict[str, Any]
):
    update_settings(user=alice.user, changes={"memory.enable_agentic_search": True})
    pause(alice, session, Pause.SESSION)
    model.script(call_tools(call(tool, arguments)), answer("It is paused."))
    (done,) = say(alice, session, "Keep the background of my move.")["tool_calls"]
    assert done["outcome"] == "failed"
    assert "Remembering is paused" in str(model.chat_requests[-1].messages)
    assert count_learned() == [0, 0, 0]


def test_what_is_done_by_hand_is_done(alice: ApiClient, session: str):
    pause(alice, session, Pause.EVERYWHERE)
    body = {"category": "fact", "key": "home", "value": "York"}
    assert alice.post("/memory/long-term", json=body).status_code == 201
    said = [RecordedMessage(role="user", content=SAID), RecordedMessage(role="assistant", content="Nice.")]
    key = Session(user=alice.user).id
    import_conversation(
        user=alice.user, session_id=key, title="", started_at=timezone.now(), messages=said, now=timezone.now()
    )
    assert set(Work.objects.filter(session=key).values_list("kind", flat=True)) == {"embed", "extract", "summarize"}
    assert list(Message.objects.filter(session=key).values_list("paused_by", flat=True)) == ["", ""]


# Doors


def test_a_recorded_conversation_is_stored_and_not_learned_from(alice: ApiClient, session: str):
    body = {"messages": [{"role": "user", "content": SAID}, {"role": "assistant", "content": "Nice."}]}
    path = f"/chat/sessions/{session}/turns"
    pause(alice, session, Pause.SPACE)
    assert alice.post(path, json=body).json() == {"stored": 2, "paused_by": Pause.SPACE}
    assert set(Work.objects.values_list("kind", flat=True)) == {"summarize"}
    pause(alice, session, Pause.SPACE, paused=False)
    assert alice.post(path, json=body).json() == {"stored": 2, "paused_by": None}
    assert Work.objects.filter(kind="extract").count() == 1


def test_a_stream_says_it_from_its_first_event(alice: ApiClient, session: str):
    first, *_pieces, last = alice.say_streaming(alice.new_session(paused=True), SAID)
    assert first.data["user_message"]["paused_by"] == last.data["paused_by"] == Pause.SESSION
    assert alice.say_streaming(session, SAID)[-1].data["paused_by"] is None


@pytest.mark.parametrize("endpoint", ["chat/completions", "responses"])
def test_a_request_of_an_openai_client_pauses_itself(alice: ApiClient, model: ScriptedModel, endpoint: str):
    model.default = lambda _request: answer("I see.", entries=[HOME])
    body = {"messages": [{"role": "user", "content": SAID}]} if endpoint == "chat/completions" else {"input": SAID}
    paused = alice.post(f"/v1/{endpoint}", json=body, headers={"X-Pause-Remembering": "true"})
    assert (paused.headers["X-Remembering-Paused"], paused.json()["jiyi"]["paused_by"]) == (
        Pause.REQUEST,
        Pause.REQUEST,
    )
    assert (count_learned(), Message.objects.filter(paused_by=Pause.REQUEST).count()) == ([0, 0, 0], 2)
    plain = alice.post(f"/v1/{endpoint}", json={**body, "store": True})
    assert "X-Remembering-Paused" not in plain.headers
    assert plain.json()["jiyi"]["paused_by"] is None
    assert count_learned() == [1, 0, 0]
    for given in ("maybe", ""):
        refused = alice.post(f"/v1/{endpoint}", json=body, headers={"X-Pause-Remembering": given})
        assert (refused.status_code, refused.json()["error"]["param"]) == (400, "X-Pause-Remembering")


def test_the_history_that_a_client_sends_meanwhile_is_not_learned_from_later(alice: ApiClient, model: ScriptedModel):
    model.default = lambda _request: answer("I see.")
    history: list[dict[str, Any]] = [
        {"role": "user", "content": SAID}, {"role": "assistant", "content": "Nice."},
        {"role": "user", "content": "And the weather?"},
    ]  # fmt: skip
    headers = {"X-OpenWebUI-Chat-Id": "c1"}
    alice.post(
        "/v1/chat/completions", json={"messages": history}, headers={**headers, "X-Pause-Remembering": "true"}
    ).raise_for_status()
    assert set(Work.objects.values_list("kind", flat=True)) == {"summarize"}
    history += [{"role": "assistant", "content": "I see."}, {"role": "user", "content": AFTER}]
    model.default = lambda _request: answer("Fine.", entries=[HOME])
    alice.post("/v1/chat/completions", json={"messages": history}, headers=headers).raise_for_status()
    learned = Work.objects.filter(kind="extract").values_list("message__content", flat=True)
    assert (list(learned), count_learned()) == ([AFTER], [0, 0, 0])


def test_mcp_says_so_and_still_forgets(alice: ApiClient):
    agent = McpCaller(create_token(user=alice.user, name="notebook"))
    memory = agent.call("add_memory", content="York", key="home")["memory"]
    pause(alice, "", Pause.EVERYWHERE)
    refused = agent.fail("add_memory", content="Lin", key="dentist")
    assert refused == (
        "Remembering is paused: nothing was stored. The person can resume it on the chat page or in the settings of "
        "the memory panel."
    )
    assert "paused" in agent.fail("update_memory", id=memory["id"], content="Leeds")
    assert "paused" in agent.fail("createContext", title="The move", content="To York.")
    assert agent.call("search_memories", keyword="home")["results"]
    assert agent.call("delete_memory", id=memory["id"])["deleted"] == 1
    space = Space.objects.create(user=alice.user, name="Novel", paused=True)
    pause(alice, "", Pause.EVERYWHERE, paused=False)
    assert "at the space" in agent.fail("add_memory", content="It is set in York.", space="Novel")
    assert agent.call("add_memory", content="It is set in York.")["action"] == "created"
    assert not AtomicMemory.objects.filter(space=space).exists()
