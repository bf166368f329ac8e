"""Embeddings in the panel: figures, the state of a re-embedding, search by meaning; never a vector."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.conversations.models import Message, Session
from apps.conversations.sessions import create_session
from apps.memory.models import ConversationEmbedding, EmbeddingModel
from apps.memory.vectors.memories import count_vectors
from apps.memory.vectors.messages import prepare_embeddings, store_embeddings
from tests.panel.conftest import browse
from tests.support.factories import LongTermMemoryFactory, UserFactory

SAID = ["我下周要去大理度假", "公司的报销流程很麻烦", "My cat sleeps all day"]

pytestmark = [pytest.mark.spec("M5"), pytest.mark.usefixtures("root"), pytest.mark.long]


def say(user: User, *texts: str) -> Session:
    """A session of messages with their vectors."""
    session = create_session(user=user, title="假期", temporary=False)
    rows = [
        Message(session=session, user=user, role="user", content=text, position=number)
        for number, text in enumerate(texts, start=1)
    ]
    store_embeddings(prepare_embeddings(Message.objects.bulk_create(rows)))
    return session


def test_vectors_are_counted_by_model_and_kind_of_one_person_or_all(client: Client) -> None:
    user = UserFactory()
    say(user, *SAID)
    say(UserFactory(), "hello")
    LongTermMemoryFactory(user=user)
    (own,) = browse(user).get(reverse("admin:embeddings")).context["models"]
    assert (own["state"], own["total"]) == ("active", 4)
    assert [count for _label, count, _share in own["bars"]] == [3, 0, 0, 1, 0]
    assert [round(share, 2) for _label, _count, share in own["bars"]] == [1, 0, 0, 0.33, 0]
    assert client.get(reverse("admin:embeddings")).context["models"][0]["total"] == 5
    assert client.get(reverse("admin:embeddings"), {"user": user.pk}).context["models"][0]["total"] == 4
    assert browse(UserFactory()).get(reverse("admin:embeddings"), {"user": user.pk}).context["models"][0]["total"] == 0


@pytest.mark.spec("V2")
def test_a_re_embedding_is_told_as_a_share(client: Client) -> None:
    user = UserFactory()
    say(user, *SAID, "four")
    building = EmbeddingModel.objects.create(name="next", state="building")
    row = ConversationEmbedding.objects.first()
    assert row is not None
    row.pk, row._state.adding, row.model = None, True, building
    row.id = ConversationEmbedding._meta.pk.get_default()
    row.save()
    active, made = client.get(reverse("admin:embeddings")).context["models"]
    assert (active["progress"], made["name"], made["progress"], made["of"]) == (None, "next", 0.25, 4)
    building.state = "retired"
    building.save()
    assert "1 old embeddings are being deleted" in client.get(reverse("admin:embeddings")).text
    assert [(model.name, model.total) for model in count_vectors(user=user)][1] == ("next", 1)
