"""Questions about the past recall what used to be, with the day until which it held; no other question does."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from apps.accounts.models import User
from apps.core.text.commands import Command, CommandKind
from apps.memory.commands import forget_stated, name_operation
from apps.memory.entries import create_memory
from apps.memory.recall.former import asks_about_past, recall_former
from tests.support.factories import UserFactory
from tests.support.judged import NOW, learn, say

pytestmark = pytest.mark.django_db


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


@pytest.mark.spec("L3")
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


@pytest.mark.spec("L3")
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
