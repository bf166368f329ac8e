"""What the person said in other conversations is recalled word for word, as long as it stands (A4, A5)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from apps.accounts.models import User
from apps.conversations.models import Message, MessageStatus, Role, Session
from apps.memory.deletion import delete_memories
from apps.memory.kinds import ATOMIC, LONG_TERM
from apps.memory.models import AtomicMemory, LongTermMemory
from apps.memory.recall.rounds import RecalledRound, recall_rounds
from tests.support.factories import UserFactory
from tests.support.judged import NOW, learn, say

pytestmark = [pytest.mark.django_db, pytest.mark.spec("A5")]

SAID = "The spare key to the allotment hangs behind the blue watering can."
QUESTION = "Where does the spare key to the allotment hang?"


@pytest.fixture
def user(db: None) -> User:
    person = UserFactory()
    for at in range(12):
        say(person, f"Lunch number {at} was soup with bread.", days_ago=20 + at)
    return person


def recall(user: User, question: str = QUESTION, *, limit: int = 2, without: tuple[UUID, ...] = ()) -> list[str]:
    return [past.said for past in find(user, question, limit=limit, without=without)]


def find(user: User, question: str, *, limit: int = 2, without: tuple[UUID, ...] = ()) -> list[RecalledRound]:
    return recall_rounds(user=user, message=question, limit=limit, query_embedding=None, without=without)


def test_a_past_round_is_recalled_with_its_reply(user: User) -> None:
    message = say(user, SAID, days_ago=3)
    Message.objects.create(
        session=message.session, user=user, role=Role.ASSISTANT, content="Noted.", position=2, reply_to=message
    )
    (past,) = find(user, QUESTION)
    assert (past.message_id, past.session_id, past.said, past.reply) == (message.id, message.session_id, SAID, "Noted.")
    assert past.keyword_score > 0
    assert recall(UserFactory()) == []
    assert recall(user, limit=0) == []


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("我把备用钥匙藏在花盆下面了。", "备用钥匙藏在哪里？"),
        ("Our wifi password is tulip-marble-77.", "What is the wifi password?"),
        ("周六约了牙医林医生。", "牙医约的是什么时候？"),
    ],
)
def test_in_both_languages(user: User, said: str, question: str) -> None:
    say(user, said, days_ago=2)
    assert recall(user, question) == [said]


def edit_away(message: Message) -> None:
    Message.objects.filter(id=message.id).update(status=MessageStatus.REPLACED)


def fail(message: Message) -> None:
    Message.objects.filter(id=message.id).update(status=MessageStatus.FAILED)


def delete_memory(message: Message) -> None:
    learn(message.user, SAID, message=message)
    memory = AtomicMemory.objects.get(message=message)
    delete_memories(ATOMIC, user=message.user, ids=[memory.id], now=NOW)


def supersede_sentence(message: Message) -> None:
    learn(message.user, SAID, message=message)
    learn(message.user, "The spare key is with Tom now.", "contradicts", SAID)


def mute_sentence(message: Message) -> None:
    learn(message.user, SAID, message=message)
    AtomicMemory.objects.filter(message=message).update(muted=True)


def add_entry(message: Message, **fields: Any) -> None:
    memory = LongTermMemory(user=message.user, message=message, category="fact", **fields)
    LONG_TERM.assign(memory, {"key": "spare key", "value": "behind the blue watering can"})
    memory.save()


def make_temporary(message: Message) -> None:
    Session.objects.filter(id=message.session_id).update(temporary=True)


@pytest.mark.spec("C7", "L6", "L10")
@pytest.mark.parametrize(
    "end",
    [
        edit_away,
        fail,
        delete_memory,
        supersede_sentence,
        mute_sentence,
        lambda message: add_entry(message, status="superseded"),
        lambda message: add_entry(message, status="rejected"),
        lambda message: add_entry(message, muted=True),
        make_temporary,
    ],
)
def test_a_round_that_does_not_stand_is_not_recalled(user: User, end: Callable[[Message], None]) -> None:
    message = say(user, SAID, days_ago=3)
    assert recall(user) == [SAID]
    end(message)
    assert SAID not in recall(user)


def test_a_round_that_taught_what_holds_is_recalled(user: User) -> None:
    message = say(user, SAID, days_ago=3)
    add_entry(message, status="active")
    learn(user, SAID, message=message)
    assert recall(user) == [SAID]


@pytest.mark.spec("C4")
def test_what_the_window_shows_and_what_is_alike_by_chance_is_not_recalled(user: User) -> None:
    message = say(user, SAID, days_ago=3)
    assert recall(user, without=(message.id,)) == []
    assert recall(user, "How tall is the Eiffel Tower?") == []


def test_what_a_reply_says_is_found_with_what_it_answers_unless_it_gave_way_to_another(user: User) -> None:
    asked = say(user, "Anything else to bear in mind?", days_ago=4)
    Message.objects.create(
        session=asked.session, user=user, role=Role.ASSISTANT, content=SAID, position=2, reply_to=asked
    )
    (past,) = find(user, QUESTION)
    assert (past.message_id, past.said, past.reply) == (asked.id, asked.content, SAID)
    assert past.create_time == NOW - timedelta(days=4)
    Message.objects.filter(reply_to=asked).update(status=MessageStatus.REPLACED)
    assert recall(user) == []


def test_of_two_messages_with_the_same_words_the_question_comes_second(user: User) -> None:
    say(user, QUESTION, days_ago=4)
    say(user, "The spare key to the allotment: hang it there.", days_ago=3)
    assert recall(user)[1:] == [QUESTION]
