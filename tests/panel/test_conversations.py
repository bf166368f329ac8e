"""Conversations and the embeddings of their messages in the panel: nothing done there breaks what a turn relies on."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import User
from apps.conversations.models import Message, Session
from apps.conversations.rounds import record_assistant_message
from apps.conversations.sessions import create_session
from apps.core.errors import ModelUnavailable
from apps.memory.entries import create_memory
from apps.memory.models import ConversationEmbedding, EmbeddingModel, LongTermMemory
from apps.memory.vectors.memories import count_vectors
from apps.memory.vectors.messages import prepare_embeddings, store_embeddings
from apps.memory.working import record_form, update_working_memory
from apps.panel import conversations as conversations_admin
from tests.panel.conftest import browse
from tests.support.factories import LongTermMemoryFactory, SessionFactory, UserFactory

pytestmark = [
    pytest.mark.usefixtures("root"),
    pytest.mark.long_except("test_a_conversation_is_read_as_it_was_held", "test_somebody_elses_conversation_is_none"),
]


@pytest.fixture
def message(db: None) -> Message:
    session = SessionFactory.create(title="旧")
    return record_assistant_message(user=session.user, session_id=session.id, content="你好", now=timezone.now())


def test_renaming_a_session_overwrites_nothing_that_a_turn_wrote_meanwhile(
    client: Client, message: Message, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = conversations_admin.SessionAdmin.get_object

    def load_then_let_a_turn_pass(*args: Any, **kwargs: Any) -> Any:
        session = loaded(*args, **kwargs)
        record_assistant_message(user=message.user, session_id=session.id, content="再见", now=timezone.now())
        return session

    monkeypatch.setattr(conversations_admin.SessionAdmin, "get_object", load_then_let_a_turn_pass)
    url = reverse("admin:conversations_session_change", args=[message.session_id])
    assert client.post(url, {"title": "新"}).status_code == 302
    session = Session.objects.get()
    assert (session.title, session.last_position) == ("新", 2)


@pytest.fixture
def mei(db: None) -> User:
    return User.objects.create_user("mei")


@pytest.fixture
def own(mei: User) -> Client:
    own = Client(headers={"accept-language": "en"})
    own.force_login(mei)
    return own


def page_of(session: Session) -> str:
    return reverse("admin:conversations_session_change", args=[session.id])


def say(session: Session, text: str, *, role: str = "user", **fields: Any) -> Message:
    session.last_position += 1
    session.save()
    return Message.objects.create(
        session=session, user=session.user, role=role, content=text, position=session.last_position, **fields
    )


@pytest.mark.spec("M5")
def test_a_conversation_is_read_as_it_was_held(mei: User, own: Client) -> None:
    session = SessionFactory.create(user=mei, title="颜色")
    asked = say(session, "我喜欢<b>蓝色</b>", is_collected=True)
    say(session, "记住了", role="assistant", reply_to=asked)
    say(session, "还在吗", status="failed")
    summary = say(session, "聊了颜色", role="summary")
    Message.objects.filter(id=asked.id).update(summarized_by=summary)
    create_memory(user=mei, category="preference", key="喜欢的颜色", value="蓝色", now=timezone.now())
    LongTermMemory.objects.update(message=asked, session=session)
    answer = own.get(page_of(session))
    said = answer.context["talk"]["said"]
    assert [(item.message.role, item.text, item.status) for item in said] == [
        ("user", "我喜欢<b>蓝色</b>", "complete"),
        ("assistant", "记住了", "complete"),
        ("user", "还在吗", "failed"),
        ("summary", "聊了颜色", "complete"),
    ]
    assert [text for _id, _kind, text, _status in said[0].learned] == ["喜欢的颜色"]
    assert said[3].covered == 1
    assert answer.context["talk"]["memories"] == 1
    text = answer.content.decode()
    assert "我喜欢&lt;b&gt;蓝色" in text
    assert text.count("no reply") == 1
    assert text.count("★") == 1


@pytest.mark.spec("W1", "H1")
def test_working_memory_and_forms_stand_beside_it(mei: User, own: Client) -> None:
    session = SessionFactory.create(user=mei)
    record_form(user=mei, session_id=session.id, title="行程", fields={"去": "北京"}, now=timezone.now())
    update_working_memory(
        user=mei,
        session_id=session.id,
        changes={"current_topic": "旅行", "context_variables": {"天数": 3}},
        now=timezone.now(),
    )
    talk = own.get(page_of(session)).context["talk"]
    assert talk["working"].current_topic == "旅行"
    assert talk["variables"] == [("天数", "3")]
    assert talk["forms"] == [("行程", [("去", "北京")])]


def make_long(mei: User, count: int) -> Session:
    session = SessionFactory.create(user=mei, title=f"{count}")
    rows = [
        Message(session=session, user=mei, role="user", content=f"message {number}", position=number)
        for number in range(1, count + 1)
    ]
    Message.objects.bulk_create(rows)
    return session


def test_a_long_conversation_opens_at_its_end_and_at_any_message(mei: User, own: Client) -> None:
    short, long = make_long(mei, 50), make_long(mei, 5_000)
    own.get(page_of(short))
    counts = []
    for session in (short, long):
        with CaptureQueriesContext(connection) as captured:
            said = own.get(page_of(session)).context["talk"]["said"]
        counts.append(len(captured))
        assert len(said) == 50
    assert counts[0] == counts[1] <= 20
    assert said[-1].text == "message 5000"
    middle = Message.objects.get(session=long, position=2_025)
    talk = own.get(page_of(long), {"at": str(middle.id)}).context["talk"]
    assert (talk["page"].number, talk["page"].paginator.num_pages) == (41, 100)
    assert middle.id in [item.message.id for item in talk["said"]]
    for wrong in ({"at": "x"}, {"page": "9999"}, {"at": str(short.id)}):
        assert own.get(page_of(long), wrong).status_code == 200


@pytest.mark.spec("W4", "L6")
def test_deleting_says_what_goes_and_what_stays(mei: User, own: Client) -> None:
    session = make_long(mei, 3)
    create_memory(user=mei, category="preference", key="颜色", value="蓝色", now=timezone.now())
    LongTermMemory.objects.update(session=session)
    url = reverse("admin:conversations_session_delete", args=[session.id])
    page = own.get(url)
    assert dict(page.context["model_count"]) == {"messages": 3, "memories to keep": 1}
    assert "This cannot be undone" in page.content.decode()
    assert own.post(url, {"post": "yes"}).status_code == 302
    assert not Session.objects.exists()
    assert LongTermMemory.objects.get().session_id is None


@pytest.mark.spec("V5")
def test_messages_are_found_by_meaning_nearest_first_and_only_ones_own(mei: User, own: Client, client: Client) -> None:
    mine, others = SessionFactory.create(user=mei), SessionFactory.create()
    far = say(mine, "股票今天大跌。")
    near = say(mine, "我想养一只小猫。")
    theirs = say(others, "我的猫叫咪咪。")
    for messages in ([far, near], [theirs]):
        store_embeddings(prepare_embeddings(messages))
    url = reverse("admin:conversations_message_changelist")
    shown = own.get(url, {"q": "宠物猫"})
    found = list(shown.context["cl"].result_list)
    assert found[0] == near
    assert theirs not in found
    assert found[0].similarity > 0.3
    assert "similarity_bar" in shown.context["cl"].list_display
    staff = client.get(url, {"q": "宠物猫", "user__id__exact": others.user_id})
    assert list(staff.context["cl"].result_list) == [theirs]


def test_a_search_without_an_embedder_says_so(mei: User, own: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_kwargs: Any) -> Any:
        raise ModelUnavailable("away", fields={})

    monkeypatch.setattr(conversations_admin, "search_conversations", refuse)
    page = own.get(reverse("admin:conversations_message_changelist"), {"q": "猫"})
    assert "cannot be reached" in page.content.decode()


@pytest.mark.spec("M7")
def test_somebody_elses_conversation_is_none(own: Client) -> None:
    other = SessionFactory.create(title="秘密")
    for url in (page_of(other), reverse("admin:conversations_session_change", args=["x"])):
        assert own.get(url).status_code == 404


SAID = ["我下周要去大理度假", "公司的报销流程很麻烦", "My cat sleeps all day"]


def say_all(user: User, *texts: str) -> Session:
    """A session of messages with their vectors."""
    session = create_session(user=user, title="假期", temporary=False)
    rows = [
        Message(session=session, user=user, role="user", content=text, position=number)
        for number, text in enumerate(texts, start=1)
    ]
    store_embeddings(prepare_embeddings(Message.objects.bulk_create(rows)))
    return session


@pytest.mark.spec("M5")
def test_vectors_are_counted_by_model_and_kind_of_one_person_or_all(client: Client) -> None:
    user = UserFactory()
    say_all(user, *SAID)
    say_all(UserFactory(), "hello")
    LongTermMemoryFactory(user=user)
    (own,) = browse(user).get(reverse("admin:embeddings")).context["models"]
    assert (own["state"], own["total"]) == ("active", 4)
    assert [count for _label, count, _share in own["bars"]] == [3, 0, 0, 1, 0]
    assert [round(share, 2) for _label, _count, share in own["bars"]] == [1, 0, 0, 0.33, 0]
    assert client.get(reverse("admin:embeddings")).context["models"][0]["total"] == 5
    assert client.get(reverse("admin:embeddings"), {"user": user.pk}).context["models"][0]["total"] == 4
    assert browse(UserFactory()).get(reverse("admin:embeddings"), {"user": user.pk}).context["models"][0]["total"] == 0


@pytest.mark.spec("V2")
@pytest.mark.spec("M5")
def test_a_re_embedding_is_told_as_a_share(client: Client) -> None:
    user = UserFactory()
    say_all(user, *SAID, "four")
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
