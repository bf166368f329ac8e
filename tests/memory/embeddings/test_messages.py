"""Vectors of messages: what is stored, for whom, and what a second run does."""

from __future__ import annotations

import pytest

from apps.conversations.models import Message
from apps.memory.embeddings.messages import prepare_embeddings, store_embeddings
from apps.memory.models import ConversationEmbedding, EmbeddingModel
from tests.support.factories import SessionFactory

pytestmark = pytest.mark.django_db


def say(session, content, role="user", position=1) -> Message:
    return Message.objects.create(session=session, user=session.user, role=role, content=content, position=position)


def test_every_message_gets_a_row_of_the_active_model() -> None:
    session = SessionFactory.create()
    messages = [say(session, "我住在北京。"), say(session, "北京很大！", "assistant", 2), say(session, "要点", "summary", 3)]

    assert store_embeddings(prepare_embeddings(messages)) == 3

    rows = ConversationEmbedding.objects.order_by("message__position")
    assert [(row.chat_id, row.user_id, row.message_id, row.content, row.message_type, row.part) for row in rows] == [
        (session.id, session.user_id, message.id, message.content, message.role, 0) for message in messages
    ]
    assert [row.created_at for row in rows] == [message.create_time for message in messages]
    model = EmbeddingModel.objects.get()
    assert (model.name, model.state) == ("local/use-m3-512", "active")
    assert {row.model_id for row in rows} == {model.pk}
