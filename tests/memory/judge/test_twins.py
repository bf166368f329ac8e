"""An entry and the sentence that says the same end together, in one operation, and come back together (A3, L3, L7)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from apps.accounts.models import User
from apps.conversations.models import Message
from apps.memory.changes.records import changed_by
from apps.memory.changes.undo import undo_operation
from apps.memory.entries import create_memory
from apps.memory.kinds import LONG_TERM
from apps.memory.lifecycle import create_atomic_memory, update_memory
from apps.memory.models import Change, LongTermEmbedding, LongTermMemory
from tests.support.entries import entry, record
from tests.support.factories import UserFactory
from tests.support.judged import NOW, learn, operate, say, show, show_active, show_entries

pytestmark = [pytest.mark.django_db, pytest.mark.spec("A3", "L3", "L7")]


def propose(user: User, message: Message, key: str, value: Any, *, mode: str = "replace") -> None:
    """What the reply to a message proposes to remember."""
    with changed_by(origin=Change.Origin.TURN, actor=None):
        record(user, entry(key, value, mode=mode), message=message, now=NOW)


def tell(user: User, key: str, value: Any, content: str, *, days_ago: float = 9, apart: bool = False) -> None:
    """Learn both kinds from one message, or, `apart`, from two."""
    message = learn(user, content, days_ago=days_ago)
    propose(user, say(user, content, days_ago=days_ago) if apart else message, key, value)


def find_operation(message: Message) -> UUID:
    (operation,) = set(Change.objects.filter(message=message, undone_by=None).values_list("operation", flat=True))
    return operation


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize(
    ("key", "old", "content", "new"),
    [
        ("phone number", "555-0101", "The user's phone number is 555-0101.", "555-0202"),
        ("home", "Leeds", "The user lives in Leeds.", "York"),
        ("employer", "Siemens", "I work at Siemens.", "Bosch"),
        ("居住地", "杭州", "用户住在杭州。", "苏州"),
    ],
)
def test_a_new_value_ends_the_sentence_that_says_the_old_one(
    user: User, key: str, old: str, content: str, new: str, apart: bool
) -> None:
    tell(user, key, old, content, apart=apart)
    message = say(user, f"{key}: {new}")
    propose(user, message, key, new)
    assert show(user) == [("superseded", content)]
    assert show_entries(user) == {key: new}
    undo_operation(user=user, operation=find_operation(message), now=NOW)
    assert show(user) == [("active", content)]
    assert show_entries(user) == {key: old}


@pytest.mark.parametrize(
    ("key", "old", "content"),
    [
        ("home", "Leeds", "The user's sister Anna lives in Leeds."),
        ("home", "Leeds", "The user was born in Leeds."),
        ("居住地", "杭州", "用户的姐姐在杭州上学。"),
        ("phone", "555-0101", "The user's dentist can be reached at 555-0101."),
        ("dog name", "Rex", "The cinema Rex opens at eight."),
    ],
)
def test_what_says_something_else_of_the_value_stays(user: User, key: str, old: str, content: str) -> None:
    tell(user, key, old, content, apart=True)
    propose(user, say(user, "Something new."), key, "other")
    assert show(user) == [("active", content)]


def test_of_several_sentences_the_others_stay(user: User) -> None:
    tell(user, "home", "Leeds", "The user lives in Leeds. The user is allergic to nuts.")
    message = say(user, "I moved to York.")
    propose(user, message, "home", "York")
    assert show_active(user) == {"The user is allergic to nuts."}
    undo_operation(user=user, operation=find_operation(message), now=NOW)
    assert show_active(user) == {"The user lives in Leeds. The user is allergic to nuts."}


def test_an_item_that_is_taken_out_of_a_list_ends_its_sentence(user: User) -> None:
    tell(user, "allergies", ["shrimp", "nuts"], "The user is allergic to shrimp.")
    learn(user, "The user is allergic to nuts.", days_ago=9)
    propose(user, say(user, "The shrimp allergy was a mistake."), "allergies", "shrimp", mode="remove")
    assert show_active(user) == {"The user is allergic to nuts."}


def test_what_was_said_later_and_what_its_owner_wrote_by_hand_stay(user: User) -> None:
    message = say(user, "I live in Leeds.", days_ago=9)
    propose(user, message, "home", "Leeds")
    learn(user, "The user lives in Leeds.", days_ago=1)
    create_atomic_memory(user=user, content="Leeds is my home.", timestamp=NOW - timedelta(days=9), now=NOW)
    propose(user, say(user, "I live in York.", days_ago=5), "home", "York")
    assert show_active(user) == {"The user lives in Leeds.", "Leeds is my home."}


@pytest.mark.parametrize(
    ("key", "old", "new", "content"),
    [
        ("home", "Leeds", "Leeds, UK", "The user lives in Leeds."),
        ("name", "Anna", "Anna Maria", "The user's name is Anna."),
        ("居住地", "苏州", "苏州园区", "用户住在苏州。"),
    ],
)
def test_a_value_that_says_more_ends_nothing(user: User, key: str, old: str, new: str, content: str) -> None:
    tell(user, key, old, content)
    propose(user, say(user, new), key, new)
    assert show(user) == [("active", content)]


@pytest.mark.spec("K9", "L2")
def test_an_entry_has_its_vector_with_the_reply(user: User) -> None:
    propose(user, say(user, "I live in York."), "home", "York")
    assert LongTermEmbedding.objects.filter(memory=LongTermMemory.objects.get(user=user)).exists()


def test_a_value_that_its_owner_corrects_by_hand_ends_its_sentence(user: User) -> None:
    tell(user, "home", "Leeds", "The user lives in Leeds.")
    entry = LongTermMemory.objects.get(user=user)
    update_memory(LONG_TERM, user=user, memory_id=entry.id, changes={"value": "York"}, now=NOW)
    assert (show_active(user), show_entries(user)) == (set(), {"home": "York"})
    operation = Change.objects.filter(object_id=entry.id).latest("id").operation
    undo_operation(user=user, operation=operation, now=NOW)
    assert (show_active(user), show_entries(user)) == ({"The user lives in Leeds."}, {"home": "Leeds"})


def test_nobody_elses_sentence_ends(user: User) -> None:
    other = UserFactory()
    learn(other, "The user lives in Leeds.", days_ago=9)
    tell(user, "home", "Leeds", "The user lives in Leeds.")
    create_memory(user=user, category="fact", key="home", value="York", now=NOW)
    assert (show_active(user), show_active(other)) == (set(), {"The user lives in Leeds."})


# A verdict that names one kind: its judge was shown both, and the other stays.


@pytest.mark.parametrize(
    ("key", "value", "content", "said"),
    [
        ("employer", "Siemens", "The user's colleague Zoe works at Siemens.", "Zoe no longer works at Siemens."),
        ("employer", "Siemens", "The user works at Siemens as an engineer.", "The user is a manager at Siemens."),
        ("公司", "华为", "用户的同事小周在华为上班。", "小周不在华为干了。"),
        ("居住地", "杭州", "用户的姐姐住在杭州。", "用户的姐姐不再住在杭州。"),
    ],
)
def test_an_entry_that_a_verdict_does_not_name_stays(user: User, key: str, value: str, content: str, said: str) -> None:
    tell(user, key, value, content)
    learn(user, said, "contradicts", content)
    assert (show_active(user), show_entries(user)) == ({said}, {key: value})


@pytest.mark.parametrize("named", ["The user works at Siemens.", "employer: Siemens"])
def test_an_operation_ends_what_it_names(user: User, named: str) -> None:
    tell(user, "employer", "Siemens", "The user works at Siemens.")
    operate(user, "end", named, said="Zoe no longer works at Siemens.")
    left = {*show_active(user), *(f"{key}: {value}" for key, value in show_entries(user).items())}
    assert left == {"The user works at Siemens.", "employer: Siemens"} - {named}


# Messages that revise each other.


@pytest.mark.long
@pytest.mark.parametrize(
    ("key", "values", "contents"),
    [
        ("phone", ["555-0101", "555-0202", "555-0303"], "My phone number is {}."),
        ("home", ["Leeds", "York", "Hull"], "The user lives in {}."),
        ("居住地", ["杭州", "苏州", "无锡"], "用户住在{}。"),
    ],
)
def test_a_sentence_that_is_learned_after_its_value_was_replaced_is_history(
    user: User, key: str, values: list[str], contents: str
) -> None:
    messages = [say(user, contents.format(value), days_ago=1 - at / 10) for at, value in enumerate(values)]
    for message, value in zip(messages, values, strict=True):
        propose(user, message, key, value)
    for message in messages:
        learn(user, message.content, message=message)
    assert show_active(user) == {contents.format(values[-1])}
    assert [status for status, _ in show(user)] == ["superseded", "superseded", "active"]
