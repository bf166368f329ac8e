"""Fixtures of this folder: an embedding model elsewhere, and things to embed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pytest_django.fixtures import Settings

from apps.conversations.models import Message, Session
from apps.memory.vectors.messages import prepare_embeddings, store_embeddings
from tests.support.scripted_model import Behaviour, ScriptedModel, embed_with, make_vector, refuse_with

REMOTE = "scripted-embedding"

Say = Callable[..., Message]


@pytest.fixture
def remote(settings: Settings, scripted_model: ScriptedModel) -> ScriptedModel:
    """A server for embeddings, which the settings select."""
    settings.EMBEDDING_BASE_URL = scripted_model.base_url
    settings.EMBEDDING_MODEL = REMOTE
    return scripted_model


def refuse(*words: str) -> Callable[[list[str]], Behaviour]:
    """Refuse every request with a text that has one of these words in it."""

    def answer(texts: list[str]) -> Behaviour:
        bad = any(word in text for word in words for text in texts)
        return refuse_with(400) if bad else embed_with(map(make_vector, texts))

    return answer


@pytest.fixture
def say(session: Session) -> Say:
    """Add a message to a session, the one of the fixture unless another is given."""
    positions: dict[object, int] = {}

    def add(content: str, role: str = "user", *, to: Session = session, **fields: object) -> Message:
        position = positions[to.pk] = positions.get(to.pk, 0) + 1
        return Message.objects.create(session=to, user=to.user, role=role, content=content, position=position, **fields)

    return add


@pytest.fixture
def embed() -> Callable[..., int]:
    """Embed messages as the pipeline does."""
    return lambda *messages: store_embeddings(prepare_embeddings(messages))
