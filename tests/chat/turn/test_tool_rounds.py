"""A model that searches memories and shares contexts within its turn (T1, X2), and all it can do wrong with that."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.utils import timezone

from apps.chat.models import Turn
from apps.chat.turn import tools
from apps.chat.turn.tools import MAX_ROUNDS
from apps.conversations.models import Message
from apps.memory.contexts import create_context
from apps.memory.entries import create_memory
from apps.memory.models import Change, ContextEntry, LongTermMemory, SharedContext
from tests.support.answers import answer
from tests.support.http_server import ApiClient
from tests.support.scripted_model import Behaviour, Reply, ScriptedModel, call, call_tools, refuse_with

pytestmark = pytest.mark.long_except(
    "test_the_model_searches_and_answers_with_what_it_found",
    "test_it_is_off_by_default",
    "test_a_model_that_never_stops_calling_has_to_answer_without_tools",
)

SEARCH, CREATE, FETCH, UPDATE = "search_memories", "createContext", "fetchContext", "updateContext"
CONVERSATIONS = ["search_conversations", "read_conversation"]
ALL = [SEARCH, *CONVERSATIONS, CREATE, FETCH, UPDATE]
READING = [SEARCH, *CONVERSATIONS, FETCH]
MESSAGE = "Should I order the paella?"
FORMS = [("json_schema", True), ("json_schema", True)]


# Calls as models write them where their server does not read them.
UNREAD_CALLS = [
    '<minimax:tool_call>\n<invoke name="search_memories">\n<parameter name="keyword">boat</parameter>\n</invoke>',
    'Let me look that up first.\n<tool_call>{"name": "search_memories", "arguments": {"keyword": "x"}}</tool_call>',
    "Let me check. <function=search_memories><parameter=keyword>boat</parameter></function>",
    '[TOOL_CALLS]search_memories[ARGS]{"keyword": "boat"}',
    'I will search.\n```tool_code\nprint(search_memories(keyword="boat"))\n```',
    "<tool_call>search_memories\n<arg_key>keyword</arg_key><arg_value>boat</arg_value></tool_call>",
    'Thought: I need their boat.\nAction: search_memories\nAction Input: {"keyword": "boat"}',
    '<|tool_call_begin|>functions.search_memories:0<|tool_call_argument_begin|>{"keyword": "boat"}<|tool_call_end|>',
    '<｜tool▁call▁begin｜>function<｜tool▁sep｜>search_memories\n```json\n{"keyword": "x"}\n```<｜tool▁call▁end｜>',
    '<|channel|>commentary to=functions.search_memories <|constrain|>json<|message|>{"keyword":"boat"}<|call|>',
]


@pytest.fixture
def alice(alice: ApiClient) -> ApiClient:
    """Alice, whose model may call tools, and who is allergic to something the message does not say."""
    alice.patch("/memory/settings", json={"memory.enable_agentic_search": True}).raise_for_status()
    create_memory(user=alice.user, category="fact", key="allergy", value="shrimp", now=timezone.now())
    return alice


def search(keyword: str = "allergy", **arguments: Any) -> dict[str, Any]:
    return call(SEARCH, {"keyword": keyword, **arguments})


def forms(model: ScriptedModel) -> list[tuple[str | None, bool]]:
    """How each request was put: its response format, and whether it offered tools."""
    return [((one.response_format or {}).get("type"), bool(one.tools)) for one in model.chat_requests]


def last_results(model: ScriptedModel) -> list[dict[str, Any]]:
    """What the model's last calls returned to it."""
    messages: list[Any] = model.chat_requests[-1].messages
    asked = max(at for at, line in enumerate(messages) if line.get("tool_calls"))
    return [read_block(line["content"], "tool_result") for line in messages[asked + 1 :]]


def read_block(text: str, name: str) -> Any:
    body = text[text.rindex(f"<{name}>\n") + len(name) + 3 : text.rindex(f"\n</{name}>")]
    return json.loads(body.replace("&lt;", "<").replace("&gt;", ">"))


def say(alice: ApiClient, message: str = MESSAGE, *, session: str = "") -> dict[str, Any]:
    turn: dict[str, Any] = alice.say(session or alice.new_session(), message).raise_for_status().json()
    return turn


@pytest.mark.spec("T1", "L4")
@pytest.mark.parametrize("streamed", [True, False])
def test_the_model_searches_and_answers_with_what_it_found(alice: ApiClient, model: ScriptedModel, streamed: bool):
    asked = call_tools(search(time_range={"since": "2020-01-01", "until": "2100-01-01"}), streamed=streamed)
    model.script(asked, answer("No: you are allergic to shrimp.", topic="dinner"))

    turn = say(alice)

    assert turn["assistant_message"]["content"] == "No: you are allergic to shrimp."
    assert turn["working_memory"]["current_topic"] == "dinner"
    assert forms(model) == FORMS
    first, second = model.chat_requests
    assert first.tools == ALL
    assert "search_memories" in first.blocks
    assert second.messages[: len(first.messages)] == first.messages
    (found,) = last_results(model)
    assert [(memory["kind"], memory["text"]) for memory in found["results"]] == [("long_term", "allergy: shrimp")]
    memory = LongTermMemory.objects.get()
    assert (memory.access_count, memory.last_accessed > memory.created_at) == (1, True)
    (shown,) = turn["tool_calls"]
    assert shown.pop("duration_ms") > 0
    assert shown == {
        "name": SEARCH,
        "outcome": "ok",
        "keyword": None,
        "time_range": {"since": "2020-01-01", "until": "2100-01-01"},
        "memories": [{"id": str(memory.id), "kind": "long_term", "text": "allergy: shrimp"}],
        "message_ids": [],
        "context_id": None,
        "left_out": 0,
    }


@pytest.mark.spec("L6", "L4")
def test_the_turn_keeps_references_and_is_read_back_with_today_s_texts(alice: ApiClient, model: ScriptedModel):
    model.script(call_tools(search("paella allergy")), answer("No."))
    turn = say(alice)
    kept = Turn.objects.get()
    assert "shrimp" not in json.dumps([kept.tool_calls, kept.memories_used, kept.sources, kept.layers])
    memory = LongTermMemory.objects.get()
    assert kept.memories_used == [{"id": str(memory.id), "kind": "long_term", "by": "tool"}]

    path = f"/chat/messages/{turn['assistant_message']['id']}/turn"
    again = alice.get(path).raise_for_status().json()
    assert again["tool_calls"] == turn["tool_calls"]
    assert again["memories_used"] == turn["memories_used"] == []

    alice.delete(f"/memory/long-term/{memory.id}").raise_for_status()
    (gone,) = alice.get(path).json()["tool_calls"]
    assert [found["text"] for found in gone["memories"]] == ["(deleted)"]


@pytest.mark.spec("L4")
def test_a_memory_that_was_recalled_and_found_counts_once(alice: ApiClient, model: ScriptedModel):
    model.script(call_tools(search(), search("shrimp")), answer("Yes, to shrimp."))
    turn = say(alice, "Do I have an allergy?")
    assert len(turn["memories_used"]) == 1
    assert [len(shown["memories"]) for shown in turn["tool_calls"]] == [1, 1]
    assert turn["tool_calls"][0]["keyword"] == "allergy"
    assert LongTermMemory.objects.get().access_count == 1
    assert len(Turn.objects.get().memories_used) == 1


@pytest.mark.spec("T1", "C6")
def test_the_reply_streams_from_its_first_token_and_what_stood_before_the_call_is_no_part_of_it(
    alice: ApiClient, model: ScriptedModel
):
    model.script(call_tools(search(), text="Let me look that up."), answer("No, you are allergic to shrimp."))
    events = alice.say_streaming(alice.new_session(), MESSAGE)
    deltas = [event.data["text"] for event in events if event.name == "delta"]
    assert len(deltas) > 1
    assert "".join(deltas) == "No, you are allergic to shrimp."
    assert events[-1].data["assistant_message"]["content"] == "".join(deltas)
    assert [event.name for event in events if event.name != "delta"] == ["start", "done"]


@pytest.mark.spec("C6")
def test_text_that_was_shown_before_a_call_stays_and_the_reply_goes_on_after_it(alice: ApiClient, model: ScriptedModel):
    model.script(call_tools(search(), text='{"response": "One moment.'), answer("No."))
    events = alice.say_streaming(alice.new_session(), MESSAGE)
    shown = "".join(event.data["text"] for event in events if event.name == "delta")
    assert shown == "One moment.\n\nNo."
    assert events[-1].data["assistant_message"]["content"] == shown
    assert events[-1].data["emotion"]["primary"] == "neutral"


# Where there are no tools


@pytest.mark.spec("T1")
def test_it_is_off_by_default(bob: ApiClient, model: ScriptedModel):
    turn = say(bob)
    assert forms(model) == [("json_schema", False)]
    assert SEARCH not in model.chat_requests[0].blocks
    assert turn["tool_calls"] == []


@pytest.mark.spec("E2")
def test_a_strategy_without_memory_has_no_search(alice: ApiClient, model: ScriptedModel):
    session = alice.new_session()
    from apps.chat.models import Strategy

    Strategy.objects.filter(emotion="neutral").update(use_memory=False)
    say(alice, session=session)
    assert model.chat_requests[0].tools == [CREATE, FETCH, UPDATE]
    assert "search_memories" not in model.chat_requests[0].blocks


def test_the_reply_to_a_form_may_read(alice: ApiClient, model: ScriptedModel):
    model.script(call_tools(search()), answer("Noted."))
    form = {"title": "Trip", "fields": {"to": "York"}}
    alice.post(f"/chat/sessions/{alice.new_session()}/hitl-forms", json=form).raise_for_status()
    assert model.chat_requests[0].tools == READING
    assert Turn.objects.get().tool_calls[0]["outcome"] == "ok"


# What a model does wrong


@pytest.mark.parametrize(
    ("made", "outcome", "said"),
    [
        (call("drop_tables", {}), "unknown_tool", "There are: search_memories"),
        (call(SEARCH, "{'keyword': "), "invalid", "keyword"),
        (call(SEARCH, "not JSON"), "invalid", "not valid JSON"),
        (call(SEARCH, "[1]"), "invalid", "not valid JSON"),
        (call(SEARCH, {}), "invalid", "keyword"),
        (call(SEARCH, {"keyword": " "}), "invalid", "blank"),
        (call(SEARCH, {"keyword": "x", "limit": 9}), "invalid", "no such argument"),
        (call(SEARCH, {"keyword": "x", "time_range": {"since": "last week"}}), "invalid", "ISO 8601"),
        (call(SEARCH, ""), "invalid", "keyword"),
        (call(CREATE, '{"title": "Trip", "content": "York"'), "invalid", "not valid JSON"),
        (call(CREATE, {"title": "Trip", "content": "x" * 70_000}), "too_large", "64 KiB|65,536"),
        (call(FETCH, {"id": "c0ffee00-0000-4000-8000-000000000000"}), "not_found", "does not exist"),
        (call(UPDATE, {"id": "no ID", "text": "x"}), "invalid", "id"),
    ],
)
def test_a_bad_call_gets_a_short_error_and_the_turn_goes_on(
    alice: ApiClient, model: ScriptedModel, made: dict[str, Any], outcome: str, said: str
):
    model.script(call_tools(made), answer("Fine."))
    turn = say(alice)
    assert turn["assistant_message"]["content"] == "Fine."
    (result,) = last_results(model)
    assert any(part in result["error"] for part in said.split("|"))
    assert len(result["error"]) <= 300
    assert [shown["outcome"] for shown in turn["tool_calls"]] == [outcome]
    assert not SharedContext.objects.exists()
    # The server gets arguments back that it can read, whatever the model wrote.
    (sent,) = (line for line in model.chat_requests[-1].messages if line.get("tool_calls"))
    assert all(isinstance(json.loads(one["function"]["arguments"]), dict) for one in sent["tool_calls"])  # type: ignore[index]


def test_broken_arguments_of_a_search_are_mended(alice: ApiClient, model: ScriptedModel):
    model.script(call_tools(call(SEARCH, "{'keyword': 'allergy'")), answer("To shrimp."))
    assert [shown["outcome"] for shown in say(alice)["tool_calls"]] == ["ok"]


def test_a_tool_that_breaks_costs_its_result_only(
    alice: ApiClient, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_args: Any, **_kwargs: Any) -> Any:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("apps.chat.search_tools.find_memories", fail)
    model.script(call_tools(search()), answer("I cannot look that up."))
    assert [shown["outcome"] for shown in say(alice)["tool_calls"]] == ["failed"]
    assert "secret detail" not in str(model.chat_requests[-1].body)


def test_calls_side_by_side_each_get_their_result_and_too_many_are_refused(alice: ApiClient, model: ScriptedModel):
    calls = [call(SEARCH, {"keyword": f"allergy {at}"}, id=f"id-{at}") for at in range(tools.MAX_CALLS + 2)]
    model.script(call_tools(*calls), answer("Done."))
    turn = say(alice)
    lines: list[Any] = model.chat_requests[-1].messages
    assert [line["tool_call_id"] for line in lines if line["role"] == "tool"] == [one["id"] for one in calls]
    outcomes = [shown["outcome"] for shown in turn["tool_calls"]]
    assert outcomes == ["ok"] * tools.MAX_CALLS + ["too_many"] * 2


def test_the_same_call_again_is_not_run_again(alice: ApiClient, model: ScriptedModel):
    make = {"title": "Trip", "content": "To York."}
    model.script(
        call_tools(call(CREATE, make), call(CREATE, dict(reversed(make.items())), id="again")),
        call_tools(call(CREATE, make)),
        answer("Kept."),
    )
    turn = say(alice, "Please keep for the others that we go to York.")
    assert [shown["outcome"] for shown in turn["tool_calls"]] == ["ok", "repeated", "repeated"]
    assert SharedContext.objects.count() == 1


@pytest.mark.spec("T1")
def test_a_model_that_never_stops_calling_has_to_answer_without_tools(alice: ApiClient, model: ScriptedModel):
    asked = 0

    def respond(request: Any) -> Behaviour | str:
        nonlocal asked
        asked += 1
        return call_tools(search(f"allergy {asked}")) if request.tools else answer("To shrimp.")

    model.default = respond
    assert say(alice)["assistant_message"]["content"] == "To shrimp."
    assert [offered for _form, offered in forms(model)] == [True] * MAX_ROUNDS + [False]
    last = model.chat_requests[-1]
    assert [line["role"] for line in last.messages] == ["system", "user"]
    assert last.blocks.count('"allergy: shrimp"') == MAX_ROUNDS
    assert last.messages[0] == model.chat_requests[0].messages[0]
    assert last.messages[1]["content"].endswith(f"</tool_results>\n</turn_context>\n\n{MESSAGE}")


def test_after_the_time_is_up_no_more_tools_are_offered(
    alice: ApiClient, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tools, "MAX_SECONDS", 0.0)
    model.default = lambda request: call_tools(search()) if request.tools else answer("To shrimp.")
    assert say(alice)["assistant_message"]["content"] == "To shrimp."
    assert [offered for _form, offered in forms(model)] == [True, False]


@pytest.mark.parametrize(
    "first",
    [
        Reply(()),
        Reply(('{"name": "search_memories", "arguments": {"keyword": "x"}}',)),
        Reply(('<tool_call>\n{"name": "search_memories", "arguments": {"keyword": "x"}}\n</tool_call>',)),
        Reply((answer(" "),)),
        Reply(("<think>I search.</think>",)),
        *(Reply((text,)) for text in UNREAD_CALLS),
    ],
)
def test_an_answer_without_a_reply_or_a_call_is_asked_for_again_without_tools(
    alice: ApiClient, model: ScriptedModel, first: Reply
):
    model.script(first, answer("Hello."))
    assert say(alice)["assistant_message"]["content"] == "Hello."
    assert [offered for _form, offered in forms(model)] == [True, False]


@pytest.mark.spec("C6")
def test_a_call_in_place_of_a_reply_is_no_reply(alice: ApiClient, model: ScriptedModel):
    model.default = lambda request: UNREAD_CALLS[0]
    response = alice.say(alice.new_session(), MESSAGE)
    assert (response.status_code, response.json()["error"]["fields"]["reason"]) == (503, "bad_answer")
    assert Message.objects.get().status == "failed"


@pytest.mark.parametrize("text", ["I can use search_memories and fetchContext.", "Use `search_memories`: it finds."])
def test_words_about_a_tool_are_a_reply(alice: ApiClient, model: ScriptedModel, text: str):
    model.script(text)
    assert say(alice)["assistant_message"]["content"] == text
    assert len(model.chat_requests) == 1


@pytest.mark.parametrize(
    "refusal", [refuse_with(400, "Function call is missing a thought_signature"), refuse_with(400, "bad role: tool")]
)
def test_a_server_that_does_not_take_results_gets_them_in_the_prompt(
    alice: ApiClient, model: ScriptedModel, refusal: Behaviour
):
    def respond(request: Any) -> Behaviour | str:
        if any(line["role"] == "tool" for line in request.messages):
            return refusal
        return call_tools(search()) if request.tools else answer("To shrimp.")

    model.default = respond
    assert say(alice)["assistant_message"]["content"] == "To shrimp."
    assert "allergy: shrimp" in model.chat_requests[-1].blocks


@pytest.mark.spec("C6")
def test_a_model_that_fails_after_its_calls_fails_the_turn(alice: ApiClient, model: ScriptedModel):
    half = answer("你对虾过敏。")[:20]
    model.script(call_tools(search()), Reply((half,), finish_reason=None, cut="fin"))
    assert alice.say(alice.new_session(), MESSAGE).status_code == 503
    assert Message.objects.get().status == "failed"
    assert LongTermMemory.objects.get().access_count == 0


# Shared contexts (X2)


@pytest.mark.spec("X2")
def test_the_model_makes_reads_and_adds_to_a_shared_context(alice: ApiClient, model: ScriptedModel):
    session = alice.new_session()
    model.script(call_tools(call(CREATE, {"title": "Lee v. Park", "content": "A rent dispute."})), answer("Kept."))
    turn = say(alice, "Keep the case for my colleague.", session=session)
    context = SharedContext.objects.get()
    assert (context.user, str(context.session_id)) == (alice.user, session)
    assert turn["tool_calls"][0]["context_id"] == str(context.id)
    assert last_results(model)[0]["id"] == str(context.id)
    change = Change.objects.get(object_id=context.id)
    assert (change.origin, change.actor) == (Change.Origin.TURN, None)

    add = call(UPDATE, {"id": str(context.id), "text": "The deposit was 900."})
    model.script(call_tools(add, call(FETCH, {"id": str(context.id)})), answer("Added."))
    say(alice, "Add the deposit.", session=session)
    added, fetched = last_results(model)
    assert [entry["text"] for entry in fetched["entries"]] == ["The deposit was 900."]
    assert added["content"] == "A rent dispute."
    entry = ContextEntry.objects.get()
    assert (entry.author, entry.message_id) == ("assistant", Message.objects.filter(role="user").last().id)  # type: ignore[union-attr]
    kept = json.dumps(list(Turn.objects.values_list("tool_calls", flat=True)))
    assert "deposit" not in kept
    assert "rent" not in kept


@pytest.mark.spec("X2", "C6")
def test_a_retry_writes_nothing_twice(alice: ApiClient, model: ScriptedModel):
    context = create_context(user=alice.user, title="Case", content="…", now=timezone.now())

    def write(words: str) -> Behaviour:
        return call_tools(
            call(CREATE, {"title": f"Trip {words}", "content": words}),
            call(UPDATE, {"id": str(context.id), "text": words}, id="b"),
        )

    session = alice.new_session()
    model.script(write("first"), refuse_with(401), refuse_with(401))
    failed = alice.say(session, "Keep it.")
    assert failed.status_code == 503
    model.script(write("second"), answer("Kept."))
    message = failed.json()["error"]["fields"]["message_id"]
    turn = alice.post(f"/chat/messages/{message}/retry").raise_for_status().json()

    assert [shown["outcome"] for shown in turn["tool_calls"]] == ["ok", "ok"]
    made = SharedContext.objects.exclude(id=context.id).get()
    assert made.title == "Trip first"
    assert turn["tool_calls"][0]["context_id"] == str(made.id)
    assert [entry.text for entry in ContextEntry.objects.all()] == ["first"]

    model.script(write("third"), answer("Kept again."))
    say(alice, "Another message.", session=session)
    assert SharedContext.objects.count() == 3
    assert ContextEntry.objects.count() == 2


# Clients of OpenAI's API (T3)


def complete(alice: ApiClient, **more: Any) -> Any:
    body = {"model": "jiyi", "messages": [{"role": "user", "content": MESSAGE}], **more}
    return alice.post("/v1/chat/completions", json=body).raise_for_status().json()


def test_what_is_not_stored_may_read_and_writes_nothing(alice: ApiClient, model: ScriptedModel):
    model.script(call_tools(search()), answer("No: shrimp."))
    assert complete(alice, store=False)["choices"][0]["message"]["content"] == "No: shrimp."
    assert model.chat_requests[0].tools == READING
    assert LongTermMemory.objects.get().access_count == 0
    assert not Turn.objects.exists()


def test_a_client_s_own_tools_are_the_only_ones(alice: ApiClient, model: ScriptedModel):
    own = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]
    complete(alice, tools=own)
    assert model.chat_requests[0].tools == ["get_weather"]
    assert SEARCH not in model.chat_requests[0].blocks
