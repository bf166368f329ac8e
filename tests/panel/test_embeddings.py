"""Embeddings in the panel: figures, the state of a re-embedding, search by meaning; never a vector."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import User
from apps.conversations.models import Message, Session
from apps.conversations.sessions import create_session
from apps.core.errors import ModelUnavailable
from apps.memory.embeddings.counting import count_vectors
from apps.memory.embeddings.messages import prepare_embeddings, store_embeddings
from apps.memory.models import ConversationEmbedding, EmbeddingModel
from apps.panel.embeddings import pages
from tests.support.factories import LongTermMemoryFactory, UserFactory

LIST = "admin:memory_conversationembedding_changelist"
SAID = ["我下周要去大理度假", "公司的报销流程很麻烦", "My cat sleeps all day"]

pytestmark = [pytest.mark.spec("M5"), pytest.mark.long]


@pytest.fixture
def client(db: None, client: Client) -> Client:
    client.force_login(User.objects.create_superuser(username="staff"))
    return client


def say(user: User, *texts: str) -> Session:
    """A session of messages with their vectors."""
    session = create_session(user=user, title="假期", temporary=False)
    rows = [
        Message(session=session, user=user, role="user", content=text, position=number)
        for number, text in enumerate(texts, start=1)
    ]
    store_embeddings(prepare_embeddings(Message.objects.bulk_create(rows)))
    return session


def browse(user: User) -> Client:
    browser = Client()
    browser.force_login(user)
    return browser


def test_vectors_are_counted_by_model_and_kind_of_one_person_or_all(client: Client) -> None:
    user = UserFactory()
    say(user, *SAID)
    say(UserFactory(), "hello")
    LongTermMemoryFactory(user=user)
    (own,) = browse(user).get(reverse("admin:embeddings")).context["models"]
    assert (own.state, own.total) == ("active", 4)
    assert [bar.count for bar in own.bars] == [3, 0, 0, 1, 0]
    assert [round(bar.share, 2) for bar in own.bars] == [1, 0, 0, 0.33, 0]
    assert client.get(reverse("admin:embeddings")).context["models"][0].total == 5
    assert client.get(reverse("admin:embeddings"), {"user": user.pk}).context["models"][0].total == 4
    assert browse(UserFactory()).get(reverse("admin:embeddings"), {"user": user.pk}).context["models"][0].total == 0


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
    assert (active.progress, made.name, made.progress, made.of) == (None, "next", 0.25, 4)
    building.state = "retired"
    building.save()
    assert "1 old embeddings are being deleted" in client.get(reverse("admin:embeddings")).text
    assert [(model.name, model.total) for model in count_vectors(user=user)][1] == ("next", 1)


@pytest.mark.long
def test_the_list_shows_how_texts_begin_and_no_vector(client: Client, django_assert_max_num_queries: Any) -> None:
    user = UserFactory()
    say(user, *[f"第{number}句话" for number in range(30)])
    with django_assert_max_num_queries(12) as captured:
        page = client.get(reverse(LIST))
    assert "第29句话" in page.text
    assert not any('"embedding"' in query["sql"].split("FROM")[0] for query in captured.captured_queries)
    row = ConversationEmbedding.objects.first()
    assert row is not None
    detail = browse(user).get(reverse("admin:memory_conversationembedding_change", args=[row.pk]))
    assert row.content in detail.text
    assert str(row.embedding[0])[:8] not in detail.text


@pytest.mark.spec("V5")
def test_search_by_meaning_tells_how_near_the_nearest_first(client: Client, django_assert_max_num_queries: Any) -> None:
    user = UserFactory()
    session = say(user, *SAID)
    say(UserFactory(), "我下周要去大理度假，谁也别告诉")
    browser = browse(user)
    with django_assert_max_num_queries(12):
        page = browser.get(reverse("admin:embeddings_search"), {"q": "去大理度假"})
    matches = page.context["matches"]
    assert matches[0].content == SAID[0]
    assert [match.similarity for match in matches] == sorted((match.similarity for match in matches), reverse=True)
    assert {match.session for match in matches} == {session}
    assert "谁也别告诉" not in page.text
    of = {"q": "cat", "user": user.pk}
    assert client.get(reverse("admin:embeddings_search"), of).context["matches"][0].content == SAID[2]
    assert browse(UserFactory()).get(reverse("admin:embeddings_search"), of).context["matches"] == []


def test_a_model_that_does_not_answer_is_told(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_asked: Any) -> None:
        raise ModelUnavailable("no")

    monkeypatch.setattr(pages, "search_conversations", fail)
    page = client.get(reverse("admin:embeddings_search"), {"q": "猫"})
    assert page.status_code == 200
    assert "is not responding" in page.text


@pytest.mark.long
def test_the_list_takes_as_many_queries_with_many_rows(client: Client, django_assert_max_num_queries: Any) -> None:
    user = UserFactory()
    session = say(user, "one")
    model = EmbeddingModel.objects.get()
    vector = ConversationEmbedding.objects.values_list("embedding", flat=True)[0]
    messages = Message.objects.bulk_create(
        Message(session=session, user=user, role="user", content="x", position=number, create_time=timezone.now())
        for number in range(2, 502)
    )
    ConversationEmbedding.objects.bulk_create(
        ConversationEmbedding(
            chat=session, user=user, message=message, content="长" * 2_000, digest=b"", message_type="user",
            model=model, embedding=vector,
        )
        for message in messages
    )  # fmt: skip
    browser = browse(user)
    with django_assert_max_num_queries(12):
        page = browser.get(reverse(LIST))
    assert len(page.content) < 300_000
