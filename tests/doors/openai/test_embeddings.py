"""OpenAI's own client asks for embeddings: those of the model that embeds here (T3, V2, V3)."""

from __future__ import annotations

from typing import Any

import numpy as np
import openai
import pytest

from apps.core.llm.client import get_embedder
from apps.core.llm.embedding import fit
from apps.core.llm.embedding_local import LOCAL_NAME
from tests.doors.openai.test_chat_completions import count_rows
from tests.support.scripted_model import ScriptedModel, make_vector, refuse_with

pytestmark = pytest.mark.long_except("test_texts_get_the_vectors_of_the_local_model")

REMOTE = "scripted-embedding"


@pytest.fixture
def server(scripted_model: ScriptedModel, settings: Any) -> ScriptedModel:
    """A server for embeddings, which the settings select."""
    settings.EMBEDDING_MODEL = REMOTE
    settings.EMBEDDING_BASE_URL = scripted_model.base_url
    return scripted_model


@pytest.mark.spec("T3", "V2")
def test_texts_get_the_vectors_of_the_local_model(client: openai.OpenAI):
    before = count_rows()
    texts = ["I live in York.", "Where do you live?", "十二月"]
    answer = client.embeddings.create(model="text-embedding-3-small", input=texts)
    assert (answer.model, [item.index for item in answer.data]) == (LOCAL_NAME, [0, 1, 2])
    expected = get_embedder().embed(texts)
    for item, vector in zip(answer.data, expected, strict=True):
        assert np.allclose(item.embedding, vector, atol=1e-6)
    assert answer.usage.prompt_tokens == answer.usage.total_tokens > 5
    assert count_rows() == before


def test_dimensions_are_those_that_the_model_has(client: openai.OpenAI):
    # Its client asks for base64 where nothing is said, and decodes it.
    asked: Any = {"model": "", "input": "tea", "encoding_format": "float"}
    short = client.embeddings.create(**asked, dimensions=512).data[0].embedding
    whole = client.embeddings.create(model="", input="tea", dimensions=1536).data[0].embedding
    assert np.allclose(short, whole[:512], atol=1e-6)
    assert (len(short), any(whole[512:])) == (512, False)
    with pytest.raises(openai.BadRequestError, match="cannot be shortened to 256") as caught:
        client.embeddings.create(model="", input="tea", dimensions=256)
    assert caught.value.param == "dimensions"


@pytest.mark.spec("V3")
def test_a_long_text_has_the_mean_of_its_parts_by_their_length(client: openai.OpenAI, server: ScriptedModel):
    text = "a" * 4_000 + "b" * 2_000
    answer = client.embeddings.create(model="", input=[text, "short"])
    (request,) = server.embedding_requests
    assert [len(part) for part in request.body["input"]] == [4_000, 2_000, 5]
    first, second = fit([make_vector("a" * 4_000), make_vector("b" * 2_000)])
    mean = 4_000 * first + 2_000 * second
    assert np.allclose(answer.data[0].embedding, mean / np.linalg.norm(mean), atol=1e-6)


def test_a_text_that_the_model_refuses_is_named(client: openai.OpenAI, server: ScriptedModel):
    server.script_embeddings(refuse_with(400), server.embed(["good"]), refuse_with(400))
    with pytest.raises(openai.BadRequestError, match=r"refuses input\[1\]"):
        client.embeddings.create(model="", input=["good", "bad"])


def test_a_model_that_is_away_is_503_and_nothing_is_told_of_its_server(client: openai.OpenAI, server: ScriptedModel):
    server.script_embeddings(refuse_with(401, "key sk-1 is bad"))
    with pytest.raises(openai.InternalServerError) as caught:
        client.embeddings.create(model="", input="tea")
    assert (caught.value.status_code, caught.value.code) == (503, "model_unavailable")
    assert "sk-1" not in str(caught.value)
    assert "127.0.0.1" not in str(caught.value)
