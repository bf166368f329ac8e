"""Testing a model before anybody relies on it: it works only where a turn would get a reply."""

from __future__ import annotations

from typing import Any

import pytest

from apps.connections.probing import try_chat_model
from tests.support.scripted_model import Json, Reply, ScriptedModel


def complete(finish_reason: str = "stop", **message: Any) -> Json:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish_reason}
    return Json({"object": "chat.completion", "choices": [choice]})


@pytest.mark.spec("C6")
@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (complete("length", content="", reasoning="They want"), "reasoning_limit"),
        (Reply(("<think>They want OK.</think>",)), "only_reasoning"),
        (Reply(("\n",)), "bad_answer"),
    ],
)
def test_a_model_without_a_reply_does_not_work(
    scripted_model: ScriptedModel, behaviour: Json | Reply, reason: str
) -> None:
    scripted_model.script(behaviour)

    outcome = try_chat_model(base_url=scripted_model.base_url, api_key="", model="m")

    assert outcome.failure is not None
    assert outcome.failure.fields["reason"] == reason


def test_a_model_may_think_as_long_as_in_a_turn(scripted_model: ScriptedModel, settings: Any) -> None:
    settings.CHAT_MAX_TOKENS = 1_234
    scripted_model.script("<think>They want OK.</think>OK")

    outcome = try_chat_model(base_url=scripted_model.base_url, api_key="", model="m")

    assert (outcome.reply, outcome.failure) == ("OK", None)
    assert scripted_model.chat_requests[0].body["max_tokens"] == 1_234
