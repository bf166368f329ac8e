"""Which embedder the settings select."""

from __future__ import annotations

import pytest
from pytest_django.fixtures import Settings

from apps.core.errors import ModelUnavailable
from apps.core.llm.client import get_embedder, get_environment_embedder_name
from apps.core.llm.embedding_local import LocalEmbedder
from apps.core.llm.embedding_openai import OpenAIEmbedder

pytestmark = pytest.mark.django_db

SERVER = "http://127.0.0.1:1/v1"


@pytest.fixture
def select(settings: Settings) -> Settings:
    """The settings, with nothing selected."""
    settings.OPENAI_API_KEY = settings.OPENAI_BASE_URL = ""
    settings.EMBEDDING_MODEL = settings.EMBEDDING_BASE_URL = ""
    return settings


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
def test_the_configured_name(select: Settings, given: dict[str, str], name: str) -> None:
    for variable, value in given.items():
        setattr(select, variable, value)

    assert get_environment_embedder_name() == name
    assert get_embedder().name == name


def test_its_own_address_goes_before_that_of_the_chat_model(select: Settings) -> None:
    select.EMBEDDING_MODEL = "bge-m3"
    select.OPENAI_BASE_URL = "http://127.0.0.1:1/chat"
    chat = get_embedder()
    select.EMBEDDING_BASE_URL = "http://127.0.0.1:1/embed"
    own = get_embedder()

    assert isinstance(chat, OpenAIEmbedder)
    assert isinstance(own, OpenAIEmbedder)
    assert (chat.server, own.server) == ("http://127.0.0.1:1/chat", "http://127.0.0.1:1/embed")


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
def test_what_cannot_be_asked_is_told_at_once(select: Settings, name: str, message: str) -> None:
    with pytest.raises(ModelUnavailable, match=message) as caught:
        get_embedder(name)

    assert caught.value.fields == {"reason": "no_model"}
