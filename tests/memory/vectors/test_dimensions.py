"""An embedder that has become another model is refused: its vectors could not be compared with what is stored (V2)."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from apps.core.errors import ModelUnavailable
from apps.core.llm.embedding_openai import OpenAIEmbedder
from apps.memory.lifecycle import create_atomic_memory
from apps.memory.models import AtomicEmbedding, EmbeddingModel
from apps.memory.vectors.embedders import embed_whole
from tests.support.factories import UserFactory
from tests.support.scripted_model import ScriptedModel, embed_with

pytestmark = [pytest.mark.django_db, pytest.mark.spec("V2")]


@pytest.fixture
def embedder(scripted_model: ScriptedModel, request: Any) -> OpenAIEmbedder:
    """One that has made a vector of 32 numbers, as another process."""
    name = f"remote {request.node.name}"[:200]
    user = UserFactory()
    memory, _new = create_atomic_memory(user=user, content="I live in Leeds.", now=timezone.now())
    AtomicEmbedding.objects.filter(user=user).delete()  # of the model that was active
    model, _ = EmbeddingModel.objects.update_or_create(state="active", defaults={"name": name})
    first = OpenAIEmbedder(model=name, base_url=scripted_model.base_url)
    [vector] = embed_whole(first, ["I live in Leeds."])
    assert vector is not None
    AtomicEmbedding.objects.create(memory=memory, user=user, model=model, embedding=vector)
    return OpenAIEmbedder(model=name, base_url=scripted_model.base_url)


@pytest.mark.parametrize("dimensions", [1, 31, 64, 768])
def test_other_dimensions_than_the_stored_ones_are_refused(
    embedder: OpenAIEmbedder, scripted_model: ScriptedModel, dimensions: int
) -> None:
    scripted_model.embed = lambda texts: embed_with([[1.0] * dimensions] * len(texts))

    with pytest.raises(ModelUnavailable, match=f"answers with {dimensions} dimensions, and its stored vectors have 32"):
        embed_whole(embedder, ["a"])


def test_the_same_dimensions_are_used(embedder: OpenAIEmbedder) -> None:
    [vector] = embed_whole(embedder, ["a"])

    assert vector is not None
