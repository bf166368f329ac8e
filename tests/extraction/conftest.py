"""A model that answers an extraction with what a test says."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.scripted_model import ScriptedModel

Answering = Callable[[Any], ScriptedModel]


@pytest.fixture
def answering(model: ScriptedModel) -> Answering:
    """Let the model answer with this JSON value (or text) from now on, and forget what it was asked before."""

    def use(answer: Any) -> ScriptedModel:
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        model.default = lambda _request: text
        model.requests.clear()
        return model

    return use


def read_prompt(model: ScriptedModel, *, call: int = 0) -> str:
    """What the model was shown."""
    return model.chat_requests[call].messages[1]["content"]
