"""Requests whose last message is the assistant's: a beginning of the reply, which the model continues (T3)."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from apps.conversations.models import Message, MessageStatus, Session
from apps.doors.openai.request import read_chat_request
from tests.doors.openai.test_chat_completions import CALL, TOOLS, ask, assistant, read_text, stored, texts, user
from tests.support.answers import answer
from tests.support.scripted_model import Reply, ScriptedModel, call_tools

pytestmark = pytest.mark.spec("T3")

HAIKU = user("Write a haiku about my cat Biscuit.")
BEGINNING = "Biscuit on the sill,\n"
REST = "counting sparrows in the rain,\nasleep by the third."


@pytest.mark.parametrize("stream", [False, True])
def test_the_reply_is_the_beginning_and_what_the_model_adds(client: openai.OpenAI, model: ScriptedModel, stream: bool):
    model.script(Reply((REST,)), answer("You're welcome."))
    asked = [HAIKU, assistant(BEGINNING)]
    response = ask(client, *asked, max_tokens=40, stream=stream)
    assert read_text(response, stream=stream) == REST  # the client shows it after what it has
    assert model.chat_requests[0].said == [HAIKU["content"], BEGINNING]
    assert stored() == [("user", HAIKU["content"]), ("assistant", BEGINNING + REST)]
    thanks = [HAIKU, assistant(BEGINNING + REST), user("Thank you!")]
    ask(client, *thanks)
    assert texts() == [HAIKU["content"], BEGINNING + REST, "Thank you!", "You're welcome."]
    assert Session.objects.count() == 1


@pytest.mark.long
def test_a_reply_that_was_cut_off_is_continued_where_it_stands(client: openai.OpenAI, model: ScriptedModel):
    model.script(answer("Hello."), answer("One, two,"), Reply((" three,",)), Reply((" four.",)))
    start = [user("Hi")]
    ask(client, *start)
    start += [assistant("Hello."), user("Count.")]
    ask(client, *start)
    ask(client, *start, assistant("One, two,"))
    ask(client, *start, assistant("One, two, three,"))
    assert texts() == ["Hi", "Hello.", "Count.", "One, two, three, four."]
    assert Session.objects.count() == 1


@pytest.mark.long
@pytest.mark.parametrize("shown", ["One, two,", "One, t", "One, two,\n"])
def test_the_first_reply_of_a_conversation_is_continued_too(client: openai.OpenAI, model: ScriptedModel, shown: str):
    model.script(answer("One, two,"), Reply((" three.",)))
    ask(client, user("Count."))
    ask(client, user("Count."), assistant(shown))
    assert stored() == [("user", "Count."), ("assistant", f"{shown} three.")]
    assert Session.objects.count() == 1
    replaced = Message.objects.filter(status=MessageStatus.REPLACED).values_list("content", flat=True)
    assert list(replaced) == ["One, two,"]


@pytest.mark.long
def test_what_followed_a_reply_stays_when_its_beginning_is_sent_alone(client: openai.OpenAI, model: ScriptedModel):
    """A prompt that always begins the same way takes nothing away from an older conversation."""
    model.script(answer("{1}"), answer("Fine."), Reply(("2}",)))
    ask(client, user("A number."))
    ask(client, user("A number."), assistant("{1}"), user("Good."))
    ask(client, user("A number."), assistant("{"))
    first, second = Session.objects.order_by("created_at")
    assert texts(first) == ["A number.", "{1}", "Good.", "Fine."]
    assert texts(second) == ["A number.", "{2}"]


def test_a_beginning_after_tools_have_run(client: openai.OpenAI, model: ScriptedModel):
    called: Any = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    model.script(call_tools(CALL), Reply((" rains.",)))
    asked: list[Any] = [user("Weather?")]
    ask(client, *asked, tools=TOOLS)
    asked += [called, {"role": "tool", "tool_call_id": "call_1", "content": "rain"}, assistant("It")]
    ask(client, *asked, tools=TOOLS)
    assert stored() == [("user", "Weather?"), ("assistant", "It rains.")]
    assert Session.objects.count() == 1


@pytest.mark.parametrize(
    ("after", "beginning", "relayed"),
    [
        ([assistant("Well")], "Well", True),
        ([assistant(" \n")], "", False),  # the place of a reply to come
        ([assistant("Well"), {"role": "system", "content": "Go on."}], "Well", True),
        ([{"role": "assistant", "content": [{"type": "text", "text": "We"}], "prefix": True}], "We", True),
        ([{"role": "assistant", "content": "Let me see.", "tool_calls": [CALL]}], "", True),
        ([{"role": "system", "content": "Be brief."}], "", False),
    ],
)
def test_what_is_a_beginning(after: list[Any], beginning: str, relayed: bool):
    request = read_chat_request({"messages": [user("Hi"), *after]}, whole=False).conversation
    assert (request.given.beginning, request.relayed is not None) == (beginning, relayed)
