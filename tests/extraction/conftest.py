"""A model that answers an extraction with what a test says."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from apps.core.llm.types import ModelRequest


class StandInModel:
    """Answers with what a test says, and keeps what it was asked."""

    name = "stand-in"

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> Any:
        self.requests.append(request)
        yield self.answer


Answering = Callable[[Any], StandInModel]


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Answering:
    """Let a stand-in answer with this JSON value (or text)."""

    def use(answer: Any) -> StandInModel:
        model = StandInModel(answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False))
        monkeypatch.setattr("apps.core.llm.client.get_chat_model", lambda: model)
        return model

    return use
