"""Questions about the past recall what used to be, with the day until which it held; no other question does."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from apps.accounts.models import User
from apps.core.text.commands import Command, CommandKind
from apps.memory.changes.undo import undo_operation
from apps.memory.commands import forget_stated, name_operation
from apps.memory.deletion import delete_memories
from apps.memory.entries import create_memory
from apps.memory.kinds import ATOMIC, LONG_TERM
from apps.memory.lifecycle import create_atomic_memory, mute_memories
from apps.memory.models import AtomicMemory
from apps.memory.recall.former import REMOVED, asks_about_past, cut_ended, cut_replies, recall_former
from tests.support.factories import UserFactory
from tests.support.judged import NOW, learn, say

pytestmark = [pytest.mark.django_db, pytest.mark.spec("L3")]


def store(user: User, key: str, *values: Any) -> None:
    """Values that a key had, a day each, the last until now."""
    for at, value in enumerate(values):
        create_memory(user=user, category="fact", key=key, value=value, now=NOW - timedelta(days=len(values) - at))


def recall(user: User, message: str) -> list[tuple[str, str]]:
    found = recall_former(user=user, message=message, limit=5, query_embedding=None)
    return [(one.text, str(one.until.date())) for one in found]


@pytest.mark.parametrize(
    ("message", "asks"),
    [
        ("What was my previous phone number?", True),
        ("Where did I live before?", True),
        ("Where did I use to live before Hull?", True),
        ("Who was my former employer?", True),
        ("我以前的手机号是多少？", True),
        ("我之前住在哪里", True),
        ("What is my phone number?", False),
        ("How old am I?", False),
        ("What should I pack before the trip?", False),
        ("我明天八点以前要到公司吗？", False),
        ("我依旧住在那里吗？", False),
        ("My previous number was 555-0101.", False),
    ],
)
def test_a_question_about_the_past_is_known_by_its_words(message: str, asks: bool) -> None:
    assert asks_about_past(message) is asks


@pytest.mark.parametrize(
    ("key", "old", "new", "message"),
    [
        ("phone", "555-0101", "555-0202", "What was my previous phone number?"),
        ("手机号", "13800138000", "13900139000", "我以前的手机号是多少？"),
        ("home", "Leeds", "York", "Where did I live before?"),
        ("employer", "Siemens", "Bosch", "Who did I work for before?"),
        ("favorite color", "green", "blue", "What was my former favourite color?"),
    ],
)
def test_the_value_before_is_recalled_with_its_end(user: User, key: str, old: str, new: str, message: str) -> None:
    store(user, key, old, new)
    store(user, "blood type", "A", "B")
    ended = str((NOW - timedelta(days=1)).date())
    assert recall(user, message) == [(f"{key}: {old}", ended)]
    assert (
        recall(user, message.replace("previous ", "").replace("before", "").replace("以前", "").replace("former ", ""))
        == []
    )


def test_what_holds_again_and_what_only_grew_is_not_the_past(user: User) -> None:
    store(user, "home", "Leeds", "York", "Leeds")
    store(user, "languages", ["English"], ["English", "French"])
    assert [text for text, _ in recall(user, "Where did I live before?")] == ["home: York"]
    assert recall(user, "Which languages did I speak before?") == []


@pytest.mark.spec("A3")
def test_sentences_that_ended_are_recalled_where_no_entry_says_it(user: User) -> None:
    learn(user, "The user plays chess on Mondays.", days_ago=9)
    learn(user, "The user no longer plays chess on Mondays.", "contradicts", "The user plays chess on Mondays.")
    assert [text for text, _ in recall(user, "When did I play chess before?")] == ["The user plays chess on Mondays."]
    assert recall(user, "When do I play chess?") == []


@pytest.mark.spec("L9")
def test_what_was_forgotten_is_not_recalled(user: User) -> None:
    store(user, "phone", "555-0101", "555-0202")
    message = say(user, "Forget my phone number.")
    command = Command(CommandKind.FORGET, "my phone number")
    forget_stated(user=user, command=command, operation=name_operation(message.id, "0"), now=NOW)
    assert [text for text, _ in recall(user, "What was my previous phone number?")] == ["phone: 555-0101"]


def test_nobody_elses_past_is_recalled(user: User) -> None:
    store(UserFactory(), "phone", "555-0101", "555-0202")
    assert recall(user, "What was my previous phone number?") == []


def correct(user: User, key: str, *values: str) -> None:
    for at, value in enumerate(values):
        create_memory(user=user, category="fact", key=key, value=value, now=NOW + timedelta(minutes=at))


@pytest.mark.parametrize(
    ("key", "old", "new", "note", "left"),
    [
        ("phone", "555-0101", "555-0202", "Mel's number is 555-0101. She likes tea.", "She likes tea."),
        ("home", "Leeds", "York", "Mel from Leeds said hello. Her sister is a vet.", "Her sister is a vet."),
        ("居住地", "杭州", "苏州", "用户住在杭州。用户养了一只猫。", "用户养了一只猫。"),
        ("favorite color", "green", "blue", "Their favourite color is green.", REMOVED),
        ("favorite color", "green", "blue", "They asked about green tea.", "They asked about green tea."),
    ],
)
def test_a_corrected_value_is_left_out(user: User, key: str, old: str, new: str, note: str, left: str) -> None:
    correct(user, key, old)
    assert cut_ended(user, [note, ""]) == [note, ""]
    correct(user, key, new)
    assert cut_ended(user, [note, ""]) == [left, ""]
    assert cut_ended(UserFactory(), [note]) == [note]


def test_what_an_active_memory_still_says_stays(user: User) -> None:
    learn(user, "The user's sister Anna studies in Leeds.")
    correct(user, "home", "Leeds", "York")
    notes = ["Anna, her sister, studies in Leeds.", "The user lives in Leeds."]
    assert cut_ended(user, notes) == [notes[0], REMOVED]
    correct(user, "home", "Leeds")
    assert cut_ended(user, notes) == notes


@pytest.mark.spec("L9")
@pytest.mark.parametrize(
    ("content", "forget", "note", "left"),
    [
        ("The user plays chess.", "that I play chess", "The user plays chess. It rained.", "It rained."),
        ("用户对虾过敏。", "我对虾过敏", "用户说自己对虾过敏。天气很好。", "天气很好。"),
        ("The user's dog is Rex.", "my dog is Rex", "Rex is the user's dog.", REMOVED),
    ],
)
def test_what_was_forgotten_is_left_out_until_that_is_undone(
    user: User, content: str, forget: str, note: str, left: str
) -> None:
    learn(user, content)
    operation = uuid4()
    forget_stated(user=user, command=Command(CommandKind.FORGET, forget), operation=operation, now=NOW)
    assert cut_ended(user, [note]) == [left]
    undo_operation(user=user, operation=operation, now=NOW)
    assert cut_ended(user, [note]) == [note]


@pytest.mark.spec("A3")
def test_what_only_grew_is_not_cut(user: User) -> None:
    learn(user, "The user plays chess.", days_ago=9)
    learn(user, "The user plays chess on Mondays.", "contradicts", "The user plays chess.")
    assert cut_ended(user, ["The user plays chess."]) == ["The user plays chess."]


@pytest.mark.spec("L10")
@pytest.mark.parametrize(
    ("sentence", "reply", "left"),
    [
        ("The user's dog is Rex.", "Noted. Your dog is Rex.", "Noted."),
        ("用户对虾过敏。", "好的。你对虾过敏。", "好的。"),
    ],
)
def test_a_muted_memory_is_left_out_until_it_may_come_up_again(
    user: User, sentence: str, reply: str, left: str
) -> None:
    learn(user, sentence)
    memory = AtomicMemory.objects.get(user=user, content=sentence)
    mute_memories(ATOMIC, user=user, ids=[memory.id], muted=True, now=NOW)
    assert cut_replies(user, [(reply, NOW)]) == [left]
    assert cut_ended(user, [reply]) == [left]
    mute_memories(ATOMIC, user=user, ids=[memory.id], muted=False, now=NOW)
    assert cut_replies(user, [(reply, NOW)]) == [reply]


@pytest.mark.spec("L10")
def test_a_muted_value_is_left_out_of_replies(user: User) -> None:
    memory, _ = create_memory(user=user, category="fact", key="home", value="Leeds", now=NOW)
    reply = "Leeds has a new tram. Take an umbrella."
    assert cut_replies(user, [(reply, NOW), ("", NOW)]) == [reply, ""]
    mute_memories(LONG_TERM, user=user, ids=[memory.id], muted=True, now=NOW)
    assert cut_replies(user, [(reply, NOW), ("In Leeds.", NOW)]) == ["Take an umbrella.", ""]
    assert cut_replies(UserFactory(), [(reply, NOW)]) == [reply]


@pytest.mark.spec("L6")
def test_what_was_deleted_since_is_left_out_of_replies(user: User) -> None:
    memory, _ = create_memory(user=user, category="fact", key="dog", value="Rex", now=NOW)
    sentence, _ = create_atomic_memory(user=user, content="You keep the key at Tom's.", now=NOW)
    delete_memories(LONG_TERM, user=user, ids=[memory.id], now=NOW)
    delete_memories(ATOMIC, user=user, ids=[sentence.id], now=NOW)
    reply = "Rex can come along. You keep the key at Tom's. It is warm."
    later = NOW + timedelta(minutes=1)
    assert cut_replies(user, [(reply, NOW), (reply, later)]) == ["It is warm.", reply]
    assert cut_replies(UserFactory(), [(reply, NOW)]) == [reply]
