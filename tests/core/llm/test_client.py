"""Which chat model the settings select."""

from __future__ import annotations

import pytest
from pytest_django.fixtures import Settings

from apps.core.llm.client import get_environment_model
from apps.core.llm.openai import OpenAIChatModel
from apps.core.llm.types import ModelRequest, PromptMessage
from apps.offline.model import OfflineModel
from tests.support.scripted_model import TURN_ANSWER, ScriptedModel

REQUEST = ModelRequest(messages=(PromptMessage("user", "你好"),))


@pytest.fixture
def select(settings: Settings) -> Settings:
    """The settings, with nothing selected."""
    settings.OPENAI_API_KEY = settings.OPENAI_BASE_URL = settings.CHAT_MODEL = ""
    return settings


@pytest.mark.parametrize("model", ["", "gpt-x"])
def test_without_key_and_address_the_offline_model_answers(select: Settings, model: str) -> None:
    select.OPENAI_API_KEY = "  "
    select.CHAT_MODEL = model

    assert isinstance(get_environment_model(), OfflineModel)


async def test_an_address_alone_selects_the_remote_model(select: Settings, scripted_model: ScriptedModel) -> None:
    select.OPENAI_BASE_URL = scripted_model.base_url
    model = get_environment_model()

    assert isinstance(model, OpenAIChatModel)
    assert await model.complete(REQUEST) == TURN_ANSWER
    assert [request.body["model"] for request in scripted_model.chat_requests] == ["scripted"]


async def test_name_and_key_are_sent_without_white_space_around_them(
    select: Settings, scripted_model: ScriptedModel
) -> None:
    select.OPENAI_BASE_URL = f" {scripted_model.base_url}\n"
    select.OPENAI_API_KEY = "sk-1\n"
    select.CHAT_MODEL = "gpt-x"
    model = get_environment_model()

    assert model.name == "gpt-x"
    assert isinstance(model, OpenAIChatModel)
    await model.complete(REQUEST)
    (request,) = scripted_model.requests
    assert request.headers["authorization"] == "Bearer sk-1"


def test_a_key_alone_selects_openai(select: Settings) -> None:
    select.OPENAI_API_KEY = "sk-1"
    model = get_environment_model()

    assert isinstance(model, OpenAIChatModel)
    assert model.server == "https://api.openai.com/v1"
