"""Notes do not repeat before a model what was corrected or forgotten since (L3, L9)."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from apps.accounts.models import User
from apps.core.text.commands import Command, CommandKind
from apps.memory.changes.undo import undo_operation
from apps.memory.commands import forget_stated
from apps.memory.entries import create_memory
from apps.memory.recall.former import REMOVED, cut_ended
from tests.support.factories import UserFactory
from tests.support.judged import NOW, learn

pytestmark = pytest.mark.django_db


def correct(user: User, key: str, *values: str) -> None:
    for at, value in enumerate(values):
        create_memory(user=user, category="fact", key=key, value=value, now=NOW + timedelta(minutes=at))


@pytest.mark.spec("L3")
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


@pytest.mark.spec("L3")
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
