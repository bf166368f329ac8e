"""Vectors of messages: what is stored, for whom, and what a second run does."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from datetime import datetime, timedelta

import numpy as np
import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django.fixtures import Settings

from apps.accounts.models import User
from apps.accounts.services.people import update_settings
from apps.conversations.models import Message, Session
from apps.conversations.sessions import delete_session
from apps.core.errors import ModelUnavailable
from apps.core.llm.client import get_embedder
from apps.memory.models import ConversationEmbedding, EmbeddingModel
from apps.memory.tasks import apply_retention
from apps.memory.vectors import messages as retention
from apps.memory.vectors.messages import ModelsChanged, prepare_embeddings, store_embeddings
from tests.memory.vectors.conftest import REMOTE, Say, refuse
from tests.support.factories import SessionFactory
from tests.support.scripted_model import ScriptedModel, refuse_with

pytestmark = [pytest.mark.django_db, pytest.mark.spec("V1", "V2", "V3")]

Embed = Callable[..., int]


def test_messages_and_summaries_get_a_row_of_the_active_model(session: Session, say: Say, embed: Embed) -> None:
    messages = [say("我住在北京。"), say("北京很大！", "assistant"), say("要点 points", "summary")]

    assert embed(*messages) == 3

    rows = list(ConversationEmbedding.objects.order_by("message__position"))
    assert [(row.chat_id, row.user_id, row.message_id, row.content, row.message_type, row.part) for row in rows] == [
        (session.id, session.user_id, message.id, message.content, message.role, 0) for message in messages
    ]
    assert [row.created_at for row in rows] == [message.create_time for message in messages]
    (expected,) = get_embedder().embed(["我住在北京。"])
    assert rows[0].embedding == pytest.approx(expected.tolist(), abs=1e-6)


def test_the_configured_model_becomes_the_active_one_with_the_first_vector(say: Say, embed: Embed) -> None:
    assert not EmbeddingModel.objects.exists()
    embed(say("x"))

    model = EmbeddingModel.objects.get()
    assert (model.name, model.state) == ("local/use-m3-512", "active")
    assert ConversationEmbedding.objects.get().model == model


def test_later_the_active_model_goes_before_the_configured_one(
    say: Say, embed: Embed, settings: Settings, scripted_model: ScriptedModel
) -> None:
    embed(say("x"))
    settings.EMBEDDING_MODEL, settings.EMBEDDING_BASE_URL = REMOTE, scripted_model.base_url
    embed(say("y"))

    assert {row.model.name for row in ConversationEmbedding.objects.all()} == {"local/use-m3-512"}
    assert scripted_model.requests == []


def test_a_long_text_is_embedded_in_parts(say: Say, embed: Embed) -> None:
    text = "这是一句用来测试的话，说的是天气。" * 120
    message = say(text)
    embed(message)

    rows = list(ConversationEmbedding.objects.order_by("part"))
    assert [row.part for row in rows] == [0, 1, 2]
    assert "".join(row.content for row in rows) == text
    assert {row.message_id for row in rows} == {message.id}
    assert all(len(row.content) <= 1000 for row in rows)


def test_a_message_of_white_space_has_no_vector_and_is_no_failure(say: Say) -> None:
    prepared = prepare_embeddings([say(" \n")])

    assert (prepared.rows, prepared.failures) == ([], {})
    assert store_embeddings(prepared) == 0


def test_a_second_run_changes_nothing(say: Say, embed: Embed) -> None:
    message = say("我住在北京。")
    embed(message)
    before = list(ConversationEmbedding.objects.values())
    embed(message)

    assert list(ConversationEmbedding.objects.values()) == before


def test_a_text_is_sent_once_however_often_it_was_said(remote: ScriptedModel, say: Say, embed: Embed) -> None:
    embed(say("好的"), say("好的"), say("thanks"))
    embed(say("好的"), say("再见"))

    assert [request.body["input"] for request in remote.embedding_requests] == [["好的", "thanks"], ["再见"]]
    rows = ConversationEmbedding.objects.filter(content="好的")
    assert rows.count() == 3
    assert {tuple(row.embedding) for row in rows} == {tuple(rows[0].embedding)}
    assert {bytes(row.digest) for row in rows} == {hashlib.sha256("好的".encode()).digest()}


def test_what_others_said_is_not_looked_at(remote: ScriptedModel, say: Say, embed: Embed) -> None:
    embed(say("好的"))
    embed(say("好的", to=SessionFactory.create()))

    assert [request.body["input"] for request in remote.embedding_requests] == [["好的"], ["好的"]]


def test_one_refused_text_is_a_failure_of_its_message_only(remote: ScriptedModel, say: Say) -> None:
    remote.embed = refuse("bad")
    messages = [say("one"), say("bad"), say("three")]
    prepared = prepare_embeddings(messages)
    store_embeddings(prepared)

    assert prepared.failures == {messages[1].id: "text_refused"}
    assert set(ConversationEmbedding.objects.values_list("message_id", flat=True)) == {messages[0].id, messages[2].id}


def test_a_model_that_is_away_fails_the_whole_batch_and_stores_nothing(remote: ScriptedModel, say: Say) -> None:
    remote.embed = lambda texts: refuse_with(401)

    with pytest.raises(ModelUnavailable):
        prepare_embeddings([say("x")])


def test_what_was_deleted_meanwhile_is_left_out(session: Session, say: Say) -> None:
    other = SessionFactory.create()
    kept = say("stays", to=other)
    prepared = prepare_embeddings([say("goes"), kept])
    delete_session(user=session.user, session_id=session.id)

    assert store_embeddings(prepared) == 1
    assert ConversationEmbedding.objects.get().message == kept


@pytest.mark.spec("W4")
def test_deleting_a_session_takes_the_vectors_along(session: Session, say: Say, embed: Embed) -> None:
    embed(say("x"))
    delete_session(user=session.user, session_id=session.id)

    assert not ConversationEmbedding.objects.exists()


def test_vectors_of_a_model_that_was_retired_meanwhile_are_made_again(say: Say) -> None:
    message = say("x")
    prepared = prepare_embeddings([message])
    EmbeddingModel.objects.update(state="retired")
    EmbeddingModel.objects.create(name="local/use-m3-512 new", state="active")

    with pytest.raises(ModelsChanged), transaction.atomic():
        store_embeddings(prepared)
    assert not ConversationEmbedding.objects.exists()


def test_while_a_model_is_built_messages_get_vectors_of_both_and_if_it_is_away_of_the_active_one(
    say: Say, embed: Embed, remote: ScriptedModel
) -> None:
    EmbeddingModel.objects.create(name="local/use-m3-512", state="active")
    EmbeddingModel.objects.create(name=REMOTE, state="building")
    message = say("我住在北京。")
    embed(message)

    rows = {row.model.name: np.array(row.embedding) for row in ConversationEmbedding.objects.select_related("model")}
    assert set(rows) == {"local/use-m3-512", REMOTE}
    assert rows["local/use-m3-512"][:512].any()
    assert not rows[REMOTE][32:].any()

    remote.embed = lambda texts: refuse_with(401)
    prepared = prepare_embeddings([say("x")])
    assert (prepared.failures, store_embeddings(prepared)) == ({}, 1)


@pytest.mark.long
def test_the_number_of_queries_does_not_grow_with_the_messages(say: Say) -> None:
    def count(number: int) -> int:
        messages = [say(f"{number} text {index}") for index in range(number)]
        with CaptureQueriesContext(connection) as queries:
            store_embeddings(prepare_embeddings(messages))
        return len(queries)

    count(1)
    assert count(2) == count(60)


# How long they are kept


@pytest.fixture
def other() -> Session:
    return SessionFactory.create()


@pytest.fixture
def history(say: Say, embed: Embed, session: Session, other: Session) -> None:
    """Messages of two people, 100, 89 and 10 days old, and a summary of each."""
    for to in (session, other):
        embed(
            say("old question", create_time=days_ago(100), to=to),
            say("old answer", "assistant", create_time=days_ago(100), to=to),
            say("old summary", "summary", create_time=days_ago(100), to=to),
            say("89 days", create_time=days_ago(89), to=to),
            say("10 days", create_time=days_ago(10), to=to),
        )


def days_ago(days: int) -> datetime:
    return timezone.now() - timedelta(days=days)


def kept(user: User) -> list[str]:
    rows = ConversationEmbedding.objects.filter(user=user).order_by("message__position")
    return list(rows.values_list("content", flat=True))


def run(*arguments: str) -> str:
    output = io.StringIO()
    call_command("apply_retention", *arguments, stdout=output)
    return output.getvalue()


@pytest.mark.spec("R1")
@pytest.mark.usefixtures("history")
def test_what_is_older_than_90_days_goes_and_summaries_stay(user: User, other: Session) -> None:
    assert apply_retention() == 4

    assert kept(user) == kept(other.user) == ["old summary", "89 days", "10 days"]
    assert Message.objects.count() == 10
    assert apply_retention() == 0


@pytest.mark.spec("R1")
@pytest.mark.usefixtures("history")
def test_everybody_has_a_setting_of_their_own(user: User, other: Session) -> None:
    update_settings(user=user, changes={"memory.embedding_retention_days": 30})
    update_settings(user=None, changes={"memory.embedding_retention_days": 365})
    apply_retention()

    assert kept(user) == ["old summary", "10 days"]
    assert len(kept(other.user)) == 5


@pytest.mark.spec("R1")
@pytest.mark.usefixtures("history")
def test_a_dry_run_tells_and_changes_nothing(user: User, other: Session) -> None:
    update_settings(user=user, changes={"memory.embedding_retention_days": 30})
    before = list(ConversationEmbedding.objects.order_by("id").values_list("id", flat=True))
    output = run("--dry-run")

    limit, mine = f"{days_ago(90):%Y-%m-%d}", f"{days_ago(30):%Y-%m-%d}"
    assert output.splitlines() == [
        f"{user.username}: 3 (before {mine})",
        f"{other.user.username}: 2 (before {limit})",
        "5 embeddings would be deleted.",
    ]
    assert list(ConversationEmbedding.objects.order_by("id").values_list("id", flat=True)) == before


@pytest.mark.spec("R1")
@pytest.mark.usefixtures("history")
def test_the_command_does_what_it_told(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "DELETED_AT_ONCE", 1)

    assert run().splitlines()[-1] == "4 embeddings were deleted."
    assert kept(user) == ["old summary", "89 days", "10 days"]
