"""A change of the embedding model that was decided in the panel, carried out by workers (V2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from apps.accounts.models import User
from apps.connections.models import ConnectedModel, ModelServer
from apps.connections.services import save_server, set_default
from apps.core.errors import Conflict, ModelUnavailable
from apps.memory.models import ConversationEmbedding, EmbeddingModel, LongTermEmbedding
from apps.memory.tasks import change_embedding_model
from apps.memory.vectors.embedders import check_active_model
from apps.memory.vectors.memories import fill_missing
from apps.memory.vectors.reembedding import begin_reembedding, continue_reembedding, hold_reembedding, reembed
from tests.memory.vectors.conftest import Say
from tests.support.factories import LongTermMemoryFactory
from tests.support.scripted_model import ScriptedModel, refuse_with

pytestmark = [pytest.mark.django_db, pytest.mark.spec("V2"), pytest.mark.long_except("test_workers_do_it_bit_by_bit")]

LOCAL, CHOSEN = "local/use-m3-512", "chosen"


@pytest.fixture
def filled(say: Say, embed: Callable[..., int], user: User) -> None:
    embed(*[say(f"message {number} 第{number}句") for number in range(4)])
    LongTermMemoryFactory.create(user=user, key="颜色", value="蓝色")
    fill_missing()


@pytest.fixture
def chosen(filled: None, scripted_model: ScriptedModel) -> ScriptedModel:
    """A connected embedding model, which somebody chose."""
    save_server(name="Here", base_url=scripted_model.base_url, api_key=None, chat=[], embedding=[CHOSEN])
    set_default(kind="embedding", model_id=ConnectedModel.objects.get().pk)
    assert begin_reembedding(CHOSEN)
    return scripted_model


def models() -> dict[str, str]:
    return dict(EmbeddingModel.objects.values_list("name", "state"))


def finish(seconds: float = 0) -> int:
    """Run the task as often as it asks for; return how often."""
    for times in range(1, 100):
        if not continue_reembedding(seconds=seconds):
            return times
    raise AssertionError("it never ends")


def test_workers_do_it_bit_by_bit(chosen: ScriptedModel) -> None:
    assert models() == {LOCAL: "active", CHOSEN: "building"}
    assert finish() > 2
    assert models() == {CHOSEN: "active"}
    assert set(ConversationEmbedding.objects.values_list("model__name", flat=True)) == {CHOSEN}
    assert set(LongTermEmbedding.objects.values_list("model__name", flat=True)) == {CHOSEN}
    assert not continue_reembedding(seconds=0)


def test_the_task_calls_for_itself_while_some_is_left(chosen: ScriptedModel, monkeypatch: Any) -> None:
    called: list[bool] = []
    monkeypatch.setattr("apps.memory.tasks.SECONDS_AT_ONCE", 0)
    monkeypatch.setattr(change_embedding_model, "delay", lambda: called.append(True))
    while change_embedding_model():
        assert len(called) < 100
    assert called
    assert models() == {CHOSEN: "active"}


def test_a_model_that_does_not_answer_is_asked_again_later(chosen: ScriptedModel) -> None:
    chosen.script_embeddings(refuse_with(401), refuse_with(401))
    with pytest.raises(ModelUnavailable):
        continue_reembedding(seconds=60)
    assert change_embedding_model() is False  # the task ends quietly
    assert models() == {LOCAL: "active", CHOSEN: "building"}
    assert finish(seconds=60) == 1
    assert models() == {CHOSEN: "active"}


def test_a_change_under_way_is_no_finding_of_the_checks(chosen: ScriptedModel) -> None:
    assert check_active_model(databases=["default"]) == []


@pytest.mark.django_db(transaction=True)
def test_two_workers_do_not_do_it_twice(chosen: ScriptedModel) -> None:
    with hold_reembedding():
        chosen.requests.clear()
        assert not continue_reembedding(seconds=60)
    assert chosen.embedding_requests == []
    assert models() == {LOCAL: "active", CHOSEN: "building"}


def test_what_was_begun_by_hand_is_left_to_hands(filled: None, scripted_model: ScriptedModel, settings: Any) -> None:
    settings.EMBEDDING_BASE_URL = scripted_model.base_url
    steps = reembed(name="by-hand", batch=1)
    next(steps)
    steps.close()
    assert not continue_reembedding(seconds=60)
    assert models() == {LOCAL: "active", "by-hand": "building"}


def test_a_choice_may_be_taken_back_halfway(chosen: ScriptedModel) -> None:
    assert continue_reembedding(seconds=0)
    set_default(kind="embedding", model_id=None)
    assert begin_reembedding(LOCAL)
    assert models() == {LOCAL: "active", CHOSEN: "retired"}
    with pytest.raises(Conflict):
        begin_reembedding(CHOSEN)
    finish()
    assert models() == {LOCAL: "active"}
    assert set(ConversationEmbedding.objects.values_list("model__name", flat=True)) == {LOCAL}
    ModelServer.objects.all().delete()


def test_without_any_vectors_there_is_nothing_to_change(db: None) -> None:
    assert not begin_reembedding(CHOSEN)
    assert not continue_reembedding(seconds=60)
    assert models() == {}
