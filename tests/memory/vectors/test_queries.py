"""Vectors of queries: at once or not at all."""

from __future__ import annotations

import pytest
from pytest_django.fixtures import Settings

from apps.core.llm.client import get_embedder
from apps.core.text.text_cache import clear_text_caches
from apps.memory.models import EmbeddingModel
from apps.memory.vectors import queries
from apps.memory.vectors.queries import embed_query, start_embedding
from tests.memory.vectors.conftest import REMOTE
from tests.support.plugin import wait_for_queries
from tests.support.scripted_model import Gate, Raw, ScriptedModel, embed_with, refuse_with

pytestmark = [pytest.mark.django_db, pytest.mark.spec("A4")]

# Seconds: this machine may be busy, and nobody is to fail for that.
PATIENT = 30.0


@pytest.fixture(autouse=True)
def _nothing_remembered() -> None:
    clear_text_caches()


@pytest.fixture
def model() -> EmbeddingModel:
    return EmbeddingModel.objects.create(name="local/use-m3-512", state="active")


@pytest.fixture
def remote_model(remote: ScriptedModel) -> EmbeddingModel:
    return EmbeddingModel.objects.create(name=REMOTE, state="active")


@pytest.mark.parametrize(
    ("query", "embedded"),
    [
        ("我住在哪里？", "我住在哪里？"),
        # Who says the lines of a dialogue is no part of its vector.
        ("Bart: I lost.\nAssistant: Why?\nBart: No idea.", "I lost.\nWhy?\nNo idea."),
    ],
)
def test_the_vector_is_of_the_active_model(model: EmbeddingModel, query: str, embedded: str) -> None:
    found = embed_query(query, deadline=PATIENT)
    (expected,) = get_embedder().embed([embedded])

    assert (found.model_id, found.min_similarity) == (model.pk, get_embedder().min_similarity)
    assert found.vector == pytest.approx(expected)


def test_while_nothing_was_ever_embedded_there_is_nothing_to_compare_with() -> None:
    assert embed_query("x", deadline=PATIENT) is None
    assert not EmbeddingModel.objects.exists()


@pytest.mark.parametrize("text", ["", " \n"])
def test_nothing_asked(model: EmbeddingModel, text: str) -> None:
    assert embed_query(text, deadline=PATIENT) is None


def test_past_the_deadline_there_is_none_and_a_late_answer_serves_the_next_time(
    remote: ScriptedModel, remote_model: EmbeddingModel
) -> None:
    gate = Gate()
    remote.script_embeddings(Raw((gate,)))
    remote.embed = lambda texts: embed_with([[1.0, 0.0]])

    wait = start_embedding("slow", deadline=0)
    gate.wait_reached()
    assert wait() is None

    gate.open()
    wait_for_queries()
    asked = len(remote.embedding_requests)
    found = embed_query("slow", deadline=PATIENT)
    assert found.vector[0] == pytest.approx(1.0)
    assert len(remote.embedding_requests) == asked


@pytest.mark.parametrize("status", [401, 400])
def test_a_model_that_fails_or_refuses_the_text_makes_nothing_fail(
    remote: ScriptedModel, remote_model: EmbeddingModel, status: int
) -> None:
    remote.embed = lambda texts: refuse_with(status)

    assert embed_query("x", deadline=PATIENT) is None


def test_a_model_that_cannot_be_asked_any_more_makes_nothing_fail(settings: Settings) -> None:
    EmbeddingModel.objects.create(name="text-embedding-3-small", state="active")
    settings.OPENAI_API_KEY = settings.OPENAI_BASE_URL = settings.EMBEDDING_BASE_URL = ""

    assert embed_query("x", deadline=PATIENT) is None


@pytest.mark.spec("R3")
def test_the_same_query_is_asked_once_until_texts_are_forgotten(
    remote: ScriptedModel, remote_model: EmbeddingModel
) -> None:
    first = embed_query("x", deadline=PATIENT)
    second = embed_query("x", deadline=PATIENT)

    assert first.vector is second.vector
    assert len(remote.embedding_requests) == 1

    clear_text_caches()
    embed_query("x", deadline=PATIENT)
    assert len(remote.embedding_requests) == 2


def test_only_the_newest_queries_are_remembered(remote: ScriptedModel, remote_model: EmbeddingModel) -> None:
    remembered = queries._Remembered(2)
    (vector,) = get_embedder("local/use-m3-512").embed(["x"])
    for text in ("a", "b"):
        remembered.add((REMOTE, text), vector)
    remembered.find((REMOTE, "a"))
    remembered.add((REMOTE, "c"), vector)

    assert [remembered.find((REMOTE, text)) is not None for text in "abc"] == [True, False, True]
