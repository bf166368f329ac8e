"""Search over all conversations: by words, titles and meaning, of one's own alone."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from apps.accounts.models import User
from apps.chat.search import FoundConversation, find_conversations
from apps.conversations.models import Message, MessageStatus, Role, Session
from apps.conversations.search import find_messages
from apps.core.text.search import parse_search
from apps.memory.vectors.messages import prepare_embeddings, store_embeddings
from tests.support.factories import SessionFactory
from tests.support.http_server import ApiClient

pytestmark = pytest.mark.django_db


def say(session: Session, *texts: str, role: str = Role.USER, **values: Any) -> list[Message]:
    """Store messages of the session, each said a minute after the one before."""
    start = session.messages.count()
    now = timezone.now() - timedelta(days=1)
    return Message.objects.bulk_create(
        Message(
            session=session, user=session.user, role=role, content=text, position=start + number,
            create_time=now + timedelta(minutes=start + number), **values,
        )
        for number, text in enumerate(texts, start=1)
    )  # fmt: skip


def find(user: User, query: str, **options: Any) -> list[FoundConversation]:
    return find_conversations(user=user, query=query, **{"limit": 20, "mode": "words", **options})


def excerpts(found: list[FoundConversation]) -> list[str]:
    return [hit.excerpt for conversation in found for hit in conversation.messages]


@pytest.fixture(params=[3_000, 1], ids=["read", "indexed"])
def _looked_up(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest messages are read one by one, the others are looked up in the index."""
    monkeypatch.setattr("apps.conversations.search.NEWEST", request.param)


@pytest.mark.long
@pytest.mark.usefixtures("_looked_up")
@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("pyth", "I write Python every day."),
        ("PYTHON day", "I write Python every day."),
        ("喜欢的颜", "我最喜欢的颜色是蓝色。"),
        ("頭髮", "他剪了头发。"),
        ("头发", "他剪了頭髮。"),
        ("用python写", "我用Python写了一个脚本。"),
        ("c++", "C++ is fast."),
        ("我喜欢的颜色是什么？", "我最喜欢的颜色是蓝色。"),
        ("猫", "我养了一只猫"),
        ("猫", "团子是只猫 cat"),
        ("猫", "猫很可爱"),
        ("überall", "Das ist ÜBERALL so."),
        ("50%", "It was 50% off."),
        ("100", "请付１００元"),
        ("１００", "It costs 100 dollars"),
        ("5G", "换了５Ｇ套餐"),
        ("MacBook", "我的ＭａｃＢｏｏｋ坏了"),
        ("パナソニック", "新しいﾊﾟﾅｿﾆｯｸのテレビ"),
        ("ﾊﾟﾅ", "パナソニックのテレビ"),
        ("会社", "㍿山田に行く"),
        ("1605", "The part is ASR1605."),
        ("15pro", "买了iPhone15pro"),
        ("km", "跑了10km"),
        ("cafe", "We met in the Cafe\u0301 Central."),
        ("café", "We met in the cafe."),
        ("strasse", "Die Straße ist lang."),
        ("c++", "我写Ｃ＋＋代码"),
        ("🐱", "我养了一只🐱叫咪咪"),
        ("咪", "我养了一只🐱叫咪咪"),
        ("❤️", "I ❤ it"),
        ("NAS", "放在客厅NAS上"),
    ],
)
def test_a_message_is_found_by_its_words(mei: User, query: str, text: str) -> None:
    session = SessionFactory(user=mei)
    (message,) = say(session, text)
    say(session, "Something else.", "其他的话。", "C is slow, and 500 too.")
    ((found,),) = [[hit for conversation in find(mei, query) for hit in conversation.messages]]
    assert (found.id, found.excerpt, found.found_by, found.similarity) == (message.id, text, "words", None)
    assert found.ranges


@pytest.mark.parametrize("limit", [1, 3])
def test_the_newest_are_found_whether_or_not_they_are_enough(mei: User, limit: int) -> None:
    messages = say(SessionFactory(user=mei), *(f"balloon 气球 {number}" for number in range(3)))
    newest = [message.id for message in reversed(messages)][:limit]
    for query in ("balloon", "气球", "ball 球"):
        assert [found.id for found in find_messages(mei, parse_search(query), limit=limit)] == newest


@pytest.mark.long
@pytest.mark.parametrize("query", ["thon", "blau", "颜喜", "'", "\\", "%", "a & b | c:*", "'; DROP TABLE conversation"])
def test_what_nobody_said_is_not_found(mei: User, query: str) -> None:
    say(SessionFactory(user=mei), "I write Python.", "我喜欢的颜色是蓝色")
    assert find(mei, query) == []


def test_all_of_the_words_have_to_be_there(mei: User) -> None:
    say(SessionFactory(user=mei), "Berlin in spring", "Berlin in autumn", "春天的柏林", "秋天的柏林")
    assert excerpts(find(mei, "berlin autumn")) == ["Berlin in autumn"]
    assert excerpts(find(mei, "柏林 秋天")) == ["秋天的柏林"]


def test_replies_are_found_and_summaries_are_not(mei: User) -> None:
    session = SessionFactory(user=mei)
    say(session, "a reply about lighthouses", role=Role.ASSISTANT)
    say(session, "a summary about lighthouses", role=Role.SUMMARY)
    assert excerpts(find(mei, "lighthouse")) == ["a reply about lighthouses"]


@pytest.mark.long
@pytest.mark.parametrize("mode", ["words", "meaning", "all"])
def test_others_temporary_and_replaced_messages_are_never_found(mei: User, mode: str) -> None:
    text = "我养了一只叫团子的猫"
    messages = [
        *say(SessionFactory(), text),
        *say(SessionFactory(user=mei, temporary=True, title=text), text),
        *say(SessionFactory(user=mei), text, status=MessageStatus.REPLACED),
    ]
    SessionFactory(title=text)
    store_embeddings(prepare_embeddings(messages))
    assert find(mei, text, mode=mode) == []


def test_archived_conversations_are_found_and_say_so(mei: User) -> None:
    say(SessionFactory(user=mei, archived=True), "lighthouse")
    (found,) = find(mei, "lighthouse")
    assert found.session.archived


def test_titles_come_first_then_the_newest(mei: User) -> None:
    old, new, titled = (SessionFactory(user=mei, title=title) for title in ("", "", "The lighthouse"))
    say(old, "lighthouse one")
    say(new, "something", "lighthouse two")
    found = find(mei, "lighthouse")
    assert [conversation.session.id for conversation in found] == [titled.id, new.id, old.id]
    assert [conversation.title_ranges for conversation in found] == [[(4, 14)], [], []]
    assert found[0].messages == []
    assert len(find(mei, "lighthouse", limit=2)) == 2


def test_of_a_conversation_the_three_best_are_shown(mei: User) -> None:
    say(SessionFactory(user=mei), "red big balloon", *(f"big balloon red {number}" for number in range(5)))
    assert excerpts(find(mei, "red big")) == ["red big balloon", "big balloon red 4", "big balloon red 3"]


def test_what_means_the_same_is_found_after_what_says_it(mei: User) -> None:
    said, near = SessionFactory(user=mei), SessionFactory(user=mei)
    messages = [*say(said, "My puppy barks."), *say(near, "We adopted a young dog."), *say(near, "我住在上海。")]
    store_embeddings(prepare_embeddings(messages))
    found = find(mei, "puppy", mode="all")
    assert [conversation.session.id for conversation in found][:2] == [said.id, near.id]
    assert [hit.found_by for conversation in found[:2] for hit in conversation.messages] == ["words", "meaning"]
    (hit,) = found[1].messages
    assert hit.similarity > 0.4
    assert find(mei, "puppy") == found[:1]
    by_meaning = find(mei, "puppy", mode="meaning")
    assert {hit.found_by for conversation in by_meaning for hit in conversation.messages} == {"meaning"}


def test_words_are_looked_up_in_the_index_of_the_owner(mei: User) -> None:
    say(SessionFactory(user=mei), "Ein Leuchtturm 灯塔 in v1.2")
    with connection.cursor() as cursor:
        cursor.execute("SELECT message_words(user_id, content)::text FROM conversation")
        ((terms,),) = cursor.fetchall()
    assert set(terms.split()) == {
        f"'{mei.pk}:{word}'" for word in ("1", "2", "ein", "in", "leuchtturm", "v1", "灯塔", "塔")
    }


def test_a_search_takes_a_fixed_number_of_queries(mei: User, django_assert_max_num_queries: Any) -> None:
    for _ in range(30):
        say(SessionFactory(user=mei, title="balloon"), *["balloon"] * 5)
    with django_assert_max_num_queries(5):
        assert len(find(mei, "balloon")) == 20


# Over REST


def test_the_answer_has_ranges_and_no_markup(alice: ApiClient) -> None:
    session = alice.new_session(title="<b>灯塔</b>")
    say(Session.objects.get(id=session), "🎉 <b>灯塔</b>很高")
    (found,) = alice.get("/chat/search", params={"q": "灯塔", "mode": "words"}).json()["results"]
    assert (found["session"]["id"], found["title_ranges"]) == (session, [[3, 5]])
    (hit,) = found["messages"]
    assert (hit["excerpt"], hit["ranges"]) == ("🎉 <b>灯塔</b>很高", [[5, 7]])
