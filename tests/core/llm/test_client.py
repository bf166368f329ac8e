"""Which chat model and which embedder the settings select."""

from __future__ import annotations

import pytest
from pytest_django.fixtures import Settings

from apps.core.errors import ModelUnavailable
from apps.core.llm.client import get_embedder, get_environment_embedder_name, get_environment_model
from apps.core.llm.embedding_local import LocalEmbedder
from apps.core.llm.embedding_openai import OpenAIEmbedder
from apps.core.llm.openai import OpenAIChatModel
from apps.core.llm.types import ModelRequest, PromptMessage
from apps.offline.model import OfflineModel
from tests.support.scripted_model import TURN_ANSWER, ScriptedModel

REQUEST = ModelRequest(messages=(PromptMessage("user", "你好"),))


@pytest.fixture
def select(settings: Settings) -> Settings:
    """The settings, with nothing selected."""
    settings.OPENAI_API_KEY = settings.OPENAI_BASE_URL = ""
    settings.EMBEDDING_MODEL = settings.EMBEDDING_BASE_URL = ""
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


SERVER = "http://127.0.0.1:1/v1"


@pytest.mark.spec("V2")
@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({}, "local/use-m3-512"),
        ({"OPENAI_API_KEY": "sk-1"}, "text-embedding-3-small"),
        ({"OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": SERVER}, "local/use-m3-512"),
        ({"OPENAI_API_KEY": "sk-1", "EMBEDDING_BASE_URL": SERVER}, "local/use-m3-512"),
        ({"OPENAI_BASE_URL": SERVER}, "local/use-m3-512"),
        ({"OPENAI_API_KEY": "sk-1", "EMBEDDING_MODEL": "local"}, "local/use-m3-512"),
        ({"OPENAI_API_KEY": " ", "EMBEDDING_MODEL": " local\n"}, "local/use-m3-512"),
        ({"OPENAI_BASE_URL": SERVER, "EMBEDDING_MODEL": "bge-m3"}, "bge-m3"),
        ({"EMBEDDING_BASE_URL": SERVER, "EMBEDDING_MODEL": "bge-m3"}, "bge-m3"),
    ],
)
@pytest.mark.django_db
def test_the_configured_name(select: Settings, given: dict[str, str], name: str) -> None:
    for variable, value in given.items():
        setattr(select, variable, value)

    assert get_environment_embedder_name() == name
    assert get_embedder().name == name


@pytest.mark.django_db
def test_its_own_address_goes_before_that_of_the_chat_model(select: Settings) -> None:
    select.EMBEDDING_MODEL = "bge-m3"
    select.OPENAI_BASE_URL = "http://127.0.0.1:1/chat"
    chat = get_embedder()
    select.EMBEDDING_BASE_URL = "http://127.0.0.1:1/embed"
    own = get_embedder()

    assert isinstance(chat, OpenAIEmbedder)
    assert isinstance(own, OpenAIEmbedder)
    assert (chat.server, own.server) == ("http://127.0.0.1:1/chat", "http://127.0.0.1:1/embed")


@pytest.mark.django_db
def test_stored_vectors_find_their_embedder_whatever_is_configured(select: Settings) -> None:
    select.OPENAI_API_KEY = "sk-1"
    assert isinstance(get_embedder("local/use-m3-512"), LocalEmbedder)
    assert isinstance(get_embedder("text-embedding-3-large"), OpenAIEmbedder)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("text-embedding-3-small", "needs OPENAI_API_KEY or EMBEDDING_BASE_URL"),
        ("local/other", 'no local embedder "local/other"'),
    ],
)
@pytest.mark.django_db
def test_what_cannot_be_asked_is_told_at_once(select: Settings, name: str, message: str) -> None:
    with pytest.raises(ModelUnavailable, match=message) as caught:
        get_embedder(name)

    assert caught.value.fields == {"reason": "no_model"}
