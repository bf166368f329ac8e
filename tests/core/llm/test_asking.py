"""Asking a model for an object in the background: valid JSON, or an error that says whose fault it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from apps.core.errors import ModelUnavailable
from apps.core.llm.client import ask_for_object
from apps.core.llm.types import ModelRequest, PromptMessage, ResponseFormat
from tests.support.scripted_model import Reply, ScriptedModel, refuse_with

pytestmark = pytest.mark.django_db

REQUEST = ModelRequest(
    messages=(PromptMessage("user", "你好"),), response_format=ResponseFormat(name="test", schema={"type": "object"})
)


@pytest.fixture(autouse=True)
def _model(scripted_model: ScriptedModel, settings: Any) -> None:
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY, settings.CHAT_MODEL = scripted_model.base_url, "", "scripted"


def test_the_object_is_returned(scripted_model: ScriptedModel) -> None:
    scripted_model.script('```json\n{"summary": "他住在上海。"}\n```')
    assert ask_for_object(REQUEST) == {"summary": "他住在上海。"}


@pytest.mark.spec("E5")
@pytest.mark.parametrize("answer", ["他住在上海。", '{"summary": "他住在', "[1]", ""])
def test_what_is_no_valid_json_is_an_answer_that_cannot_be_used(scripted_model: ScriptedModel, answer: str) -> None:
    scripted_model.script(answer)
    with pytest.raises(ModelUnavailable) as caught:
        ask_for_object(REQUEST)
    assert caught.value.fields == {"reason": "bad_answer"}


@pytest.mark.spec("E5")
def test_words_around_the_whole_object_cost_nothing(scripted_model: ScriptedModel) -> None:
    schema = {"type": "object", "properties": {"summary": {"type": "string"}}}
    scripted_model.script('<think>They moved. {}</think>\n{"result": {"summary": "他住在上海。"}}\nI am done.')
    request = replace(REQUEST, response_format=ResponseFormat(name="test", schema=schema))
    assert ask_for_object(request) == {"summary": "他住在上海。"}


def test_a_limit_spent_on_reasoning_is_raised_once_and_then_named(scripted_model: ScriptedModel, settings: Any) -> None:
    settings.BACKGROUND_MAX_TOKENS = 50
    scripted_model.script(cut("<think>Hm."), '<think>Hm.</think>{"summary": "a"}', cut("<think>"), cut("<think>Hm."))
    assert ask_for_object(REQUEST) == {"summary": "a"}
    with pytest.raises(ModelUnavailable) as caught:
        ask_for_object(REQUEST)
    assert caught.value.fields == {"reason": "reasoning_limit"}
    assert [request.body["max_tokens"] for request in scripted_model.chat_requests] == [50, 100, 50, 100]


def test_a_failure_of_the_server_keeps_its_reason(scripted_model: ScriptedModel) -> None:
    scripted_model.script(refuse_with(401))
    with pytest.raises(ModelUnavailable) as caught:
        ask_for_object(REQUEST)
    assert caught.value.fields == {"reason": "refused", "status": 401}


def cut(*pieces: str, streamed: bool = True) -> Reply:
    return Reply(pieces, finish_reason="length", streamed=streamed)


@pytest.mark.spec("E5")
@pytest.mark.parametrize("streamed", [True, False])
def test_an_answer_that_was_cut_off_is_asked_for_again_with_more_room(
    scripted_model: ScriptedModel, settings: Any, streamed: bool
) -> None:
    settings.BACKGROUND_MAX_TOKENS = 50
    scripted_model.script(cut('{"summary": "他住在', streamed=streamed), '{"summary": "他住在上海。"}')
    assert ask_for_object(REQUEST) == {"summary": "他住在上海。"}
    assert [request.body["max_tokens"] for request in scripted_model.chat_requests] == [50, 100]


@pytest.mark.spec("E5")
def test_an_answer_that_is_cut_off_twice_is_never_used_in_part(scripted_model: ScriptedModel) -> None:
    scripted_model.script(cut('{"summary": "他住在'), cut('{"summary": "他住在上'))
    with pytest.raises(ModelUnavailable) as caught:
        ask_for_object(REQUEST)
    assert caught.value.fields == {"reason": "cut_off"}


def test_an_object_that_is_whole_when_the_limit_is_reached_is_used(scripted_model: ScriptedModel) -> None:
    scripted_model.script(cut('{"summary": "他住在上海。"}', "   "))
    assert ask_for_object(REQUEST) == {"summary": "他住在上海。"}
