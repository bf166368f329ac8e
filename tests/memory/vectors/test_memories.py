"""Vectors of memories: written with them, or added by a worker."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.core.errors import ModelUnavailable
from apps.core.llm.client import get_embedder
from apps.core.llm.embedding import Embedder
from apps.core.llm.embedding_openai import OpenAIEmbedder
from apps.memory.kinds import ATOMIC
from apps.memory.lifecycle import update_memory
from apps.memory.models import AtomicEmbedding, AtomicMemory, EmbeddingModel, LongTermEmbedding, Status
from apps.memory.tasks import embed_memories as embed_memories_task
from apps.memory.vectors import memories
from apps.memory.vectors.embedders import embed_whole
from apps.memory.vectors.memories import embed_memories, fill_missing, write_vectors
from tests.memory.vectors.conftest import refuse
from tests.support.factories import LongTermMemoryFactory, UserFactory
from tests.support.scripted_model import ScriptedModel, embed_with, refuse_with

pytestmark = pytest.mark.django_db


def add_atomic(user: User, content: str, status: str = Status.ACTIVE) -> AtomicMemory:
    """A row without a vector, as one that a model elsewhere is to embed."""
    return AtomicMemory.objects.create(
        user=user, content=content, normalized_content=content, terms=[], term_count=0, status=status
    )


def test_the_local_model_writes_the_vector_with_the_memory(user: User) -> None:
    memory = add_atomic(user, "用户住在北京。")
    write_vectors(user, ATOMIC, [memory])

    row = AtomicEmbedding.objects.get()
    (expected,) = get_embedder().embed([memory.content])
    assert (row.user, row.memory, row.model.name) == (user, memory, "local/use-m3-512")
    assert row.embedding == pytest.approx(expected.tolist(), abs=1e-3)


def test_a_long_text_has_one_vector_of_all_its_parts(user: User) -> None:
    embedder = get_embedder()
    first, second = "我喜欢爬山。" * 150, "股票跌了。" * 180
    ((whole,),) = embed_memories([first + second]).values()
    one, other = embedder.embed([first[:900], second])

    assert float(whole @ one) > 0.5
    assert float(whole @ other) > 0.5


def test_a_model_elsewhere_is_not_called_in_the_transaction_of_the_writer(
    user: User, remote: ScriptedModel, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    woken: list[str] = []
    monkeypatch.setattr(memories, "send_task", woken.append)
    memory = add_atomic(user, "用户住在北京。")
    with django_capture_on_commit_callbacks(execute=True):
        write_vectors(user, ATOMIC, [memory])

    assert remote.requests == []
    assert not AtomicEmbedding.objects.exists()
    assert woken == ["apps.memory.tasks.embed_memories"]


def test_a_model_elsewhere_leaves_no_vector_of_the_text_before(user: User, remote: ScriptedModel) -> None:
    memory = add_atomic(user, "a")
    fill_missing()
    assert AtomicEmbedding.objects.count() == 1
    memory.content = "b"
    write_vectors(user, ATOMIC, [memory])

    assert not AtomicEmbedding.objects.exists()


def test_a_worker_adds_what_is_missing_for_everybody(user: User, remote: ScriptedModel) -> None:
    other = UserFactory.create()
    mine, theirs = add_atomic(user, "用户住在北京。"), add_atomic(other, "The user lives in Paris.")
    waiting = add_atomic(user, "用户有一只猫。", Status.PENDING)
    add_atomic(user, "以前住在上海。", Status.SUPERSEDED)
    colour = LongTermMemoryFactory.create(user=user, key="颜色", value="蓝色")
    LongTermEmbedding.objects.all().delete()

    assert embed_memories_task() == 4
    assert set(AtomicEmbedding.objects.values_list("memory", "user")) == {
        (mine.id, user.pk),
        (theirs.id, other.pk),
        (waiting.id, user.pk),
    }
    assert list(LongTermEmbedding.objects.values_list("memory", "user")) == [(colour.id, user.pk)]
    assert "我的颜色是什么？我的颜色是蓝色。" in [
        text for request in remote.embedding_requests for text in request.body["input"]
    ]
    assert fill_missing() == 0


@pytest.mark.long
def test_a_text_that_is_refused_holds_up_no_other(user: User, remote: ScriptedModel) -> None:
    remote.embed = refuse("bad")
    for index in range(150):
        add_atomic(user, "bad" if index % 3 else f"text {index}")

    assert fill_missing() == 50
    assert fill_missing() == 0


@pytest.fixture
def bad(user: User, remote: ScriptedModel) -> AtomicMemory:
    """A memory whose text the model has refused."""
    remote.embed = refuse("bad")
    memory = add_atomic(user, "bad")
    assert fill_missing() == 0
    assert ["bad"] in [request.body["input"] for request in remote.embedding_requests]
    return memory


@pytest.mark.spec("V3")
def test_a_text_that_was_refused_is_not_offered_with_each_sweep(user: User, remote: ScriptedModel, bad: Any) -> None:
    asked = len(remote.embedding_requests)
    assert fill_missing() == 0
    assert len(remote.embedding_requests) == asked
    add_atomic(user, "good")
    assert fill_missing() == 1
    assert [request.body["input"] for request in remote.embedding_requests[asked:]] == [["good"]]


@pytest.mark.spec("V3")
def test_a_refused_text_is_offered_again_after_a_day(remote: ScriptedModel, bad: AtomicMemory) -> None:
    remote.embed = refuse()
    bad.refresh_from_db()
    for hours, filled in ((23, 0), (25, 1)):
        at = timezone.now() - timedelta(hours=hours)
        AtomicMemory.objects.update(embedding_refusals=dict.fromkeys(bad.embedding_refusals, at.isoformat()))
        assert fill_missing() == filled


@pytest.mark.spec("V3")
def test_a_refusal_is_of_one_model_and_one_text(user: User, remote: ScriptedModel, bad: AtomicMemory) -> None:
    bad.refresh_from_db()
    refusals = bad.embedding_refusals
    AtomicMemory.objects.update(embedding_refusals={"model_0": timezone.now().isoformat()})
    asked = len(remote.embedding_requests)
    assert fill_missing() == 0
    assert len(remote.embedding_requests) > asked
    bad.refresh_from_db()
    assert bad.embedding_refusals.keys() == {"model_0", *(refusals or ())}
    update_memory(ATOMIC, user=user, memory_id=bad.id, changes={"content": "better"}, now=timezone.now())
    assert fill_missing() == 1


def test_a_memory_that_was_changed_meanwhile_keeps_no_vector_of_the_old_text(
    user: User, remote: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed, deleted, same = (add_atomic(user, f"text {number}") for number in range(3))

    def embed_slowly(embedder: Embedder, texts: Sequence[str]) -> Any:
        AtomicMemory.objects.filter(id=changed.id).update(content="new text")
        AtomicMemory.objects.filter(id=deleted.id).delete()
        return embed_whole(embedder, texts)

    monkeypatch.setattr(memories, "embed_whole", embed_slowly)

    assert fill_missing() == 1
    assert list(AtomicEmbedding.objects.values_list("memory", flat=True)) == [same.id]


def test_a_model_that_is_away_is_told_and_nothing_is_stored(user: User, remote: ScriptedModel) -> None:
    add_atomic(user, "x")
    remote.embed = lambda texts: refuse_with(401)

    with pytest.raises(ModelUnavailable):
        fill_missing()
    assert not AtomicEmbedding.objects.exists()


# An embedder that has become another model: its vectors could not be compared with what is stored


@pytest.mark.spec("V2")
@pytest.mark.parametrize("dimensions", [32, 1, 31, 64, 768])
def test_other_dimensions_than_the_stored_ones_are_refused(
    user: User, scripted_model: ScriptedModel, request: pytest.FixtureRequest, dimensions: int
) -> None:
    name = f"remote {request.node.name}"  # no other process of this run has asked it
    model = EmbeddingModel.objects.create(name=name, state="active")
    (vector,) = embed_whole(OpenAIEmbedder(model=name, base_url=scripted_model.base_url), ["I live in Leeds."])
    memory = add_atomic(user, "I live in Leeds.")
    AtomicEmbedding.objects.create(memory=memory, user=user, model=model, embedding=vector)
    scripted_model.embed = lambda texts: embed_with([[1.0] * dimensions] * len(texts))
    message = f"answers with {dimensions} dimensions, and its stored vectors have 32"

    refused = nullcontext() if dimensions == 32 else pytest.raises(ModelUnavailable, match=message)
    with refused:
        (found,) = embed_whole(OpenAIEmbedder(model=name, base_url=scripted_model.base_url), ["a"])
        assert found is not None
