"""The rules of L3 by themselves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.accounts.models import User
from apps.conversations.models import Message, Role
from apps.memory.keyed import (
    Action,
    Decision,
    MemoryUpdate,
    Mode,
    Version,
    apply_mode,
    decide,
    drop_claims,
    drop_stale,
    list_claims,
)
from apps.memory.models import LongTermMemory, Status
from tests.support.entries import entry, record
from tests.support.factories import SessionFactory, UserFactory

pytestmark = pytest.mark.spec("L2", "L3")

REPLACE, ADD, REMOVE = Mode.REPLACE, Mode.ADD, Mode.REMOVE
CREATED, SUPERSEDED, REFRESHED, PENDING, IGNORED = Action


@pytest.mark.parametrize(
    ("mode", "current", "proposed", "result"),
    [
        (REPLACE, None, "蓝色", "蓝色"),
        (REPLACE, ["花生"], "虾", "虾"),
        (ADD, None, "花生", ["花生"]),
        (ADD, "花生", "虾", ["花生", "虾"]),
        (ADD, ["花生"], ["虾", "蟹", "虾。"], ["花生", "虾", "蟹"]),
        (ADD, ["peanuts"], "shrimp", ["peanuts", "shrimp"]),
        (ADD, ["peanuts", "shrimp"], "Shrimp", ["peanuts", "Shrimp"]),
        (ADD, ["mcdonald", "obrien"], ["O'Brien", "Smith"], ["mcdonald", "O'Brien", "Smith"]),
        (ADD, {"name": "豆豆"}, {"name": "咪咪"}, [{"name": "豆豆"}, {"name": "咪咪"}]),
        (REMOVE, None, "花生", None),
        (REMOVE, "花生", "虾", "花生"),
        (REMOVE, "花生", "花生", None),
        (REMOVE, ["花生", "虾", "蟹"], "虾", ["花生", "蟹"]),
        (REMOVE, ["花生", "虾", "蟹"], ["蟹", "花生"], ["虾"]),
        (REMOVE, ["Cats", "dogs"], ["dogs.", "CATS"], None),
    ],
)
def test_a_mode_makes_the_next_value_of_a_key(mode: Mode, current: Any, proposed: Any, result: Any) -> None:
    assert apply_mode(mode=mode, current=current, proposed=proposed) == result


@pytest.mark.parametrize(
    ("mode", "current", "value", "decision"),
    [
        (REPLACE, None, "蓝色", Decision(CREATED, "蓝色")),
        (REPLACE, "蓝色", "红色", Decision(SUPERSEDED, "红色")),
        (REPLACE, "蓝色", "藍色", Decision(REFRESHED, "藍色")),
        (REPLACE, "蓝色", " 蓝色。", Decision(REFRESHED, "蓝色")),
        (REPLACE, "mcdonald", "McDonald", Decision(REFRESHED, "McDonald")),
        (REPLACE, "OBrien", "O'Brien", Decision(REFRESHED, "O'Brien")),
        (REPLACE, ["a cat", "a dog"], ["a dog", "a cat!"], Decision(REFRESHED, ["a cat", "a dog"])),
        (REPLACE, ["a cat", "a dog"], ["A dog", "a cat!"], Decision(REFRESHED, ["A dog", "a cat!"])),
        (REPLACE, 3, 3.0, Decision(REFRESHED, 3)),
        (REPLACE, {"name": "anna"}, {"name": "Anna"}, Decision(REFRESHED, {"name": "Anna"})),
        (ADD, None, "花生", Decision(CREATED, ["花生"])),
        (ADD, ["花生"], "虾", Decision(SUPERSEDED, ["花生", "虾"])),
        (ADD, ["花生", "虾"], "蝦", Decision(REFRESHED, ["花生", "蝦"])),
        (ADD, ["花生", "虾"], "虾！", Decision(REFRESHED, ["花生", "虾"])),
        (REMOVE, ["花生", "虾"], "虾", Decision(SUPERSEDED, ["花生"])),
        (REMOVE, ["花生"], "花生", Decision(SUPERSEDED, None)),
        (REMOVE, ["花生"], "虾", Decision(IGNORED, ["花生"])),
        (REMOVE, None, "虾", Decision(IGNORED)),
    ],
)
def test_what_is_certain_is_done_at_once(mode: Mode, current: Any, value: Any, decision: Decision) -> None:
    assert decide(mode=mode, value=value, current=current, accept=True) == decision


@pytest.mark.parametrize(
    ("mode", "current", "value", "decision"),
    [
        (REPLACE, None, "blue", Decision(PENDING, "blue")),
        (REPLACE, "blue", "red", Decision(PENDING, "red")),
        (REPLACE, "blue", "Blue.", Decision(REFRESHED, "blue")),
        (ADD, ["peanuts"], "shrimp", Decision(PENDING, "shrimp")),
        (REMOVE, ["peanuts"], "peanuts", Decision(PENDING, "peanuts")),
    ],
)
def test_what_is_uncertain_waits_as_it_was_proposed(mode: Mode, current: Any, value: Any, decision: Decision) -> None:
    assert decide(mode=mode, value=value, current=current, accept=False) == decision


@pytest.mark.spec("L1")
def test_rejecting_that_something_ended_does_not_reject_the_thing_itself() -> None:
    rejected = list_claims(mode=REMOVE, value="cats")
    assert decide(mode=ADD, value="cats", current=None, accept=True, rejected=rejected) == Decision(CREATED, ["cats"])
    assert decide(mode=REMOVE, value="cats", current=["cats"], accept=True, rejected=rejected) == Decision(IGNORED)


@pytest.mark.spec("L1")
def test_of_a_list_only_the_rejected_items_go() -> None:
    rejected = list_claims(mode=ADD, value=["虾"])
    assert drop_claims(mode=ADD, value=["蝦", "蟹"], claims=rejected) == ["蟹"]
    assert drop_claims(mode=ADD, value=["蟹", "鱼"], claims=rejected) == ["蟹", "鱼"]
    assert drop_claims(mode=ADD, value=["虾"], claims=rejected) is None


def test_a_pending_value_waits_once() -> None:
    pending = list_claims(mode=ADD, value="虾")
    assert decide(mode=ADD, value="蝦", current=["花生"], accept=False, pending=pending) == Decision(IGNORED)
    assert decide(mode=ADD, value=["虾", "蟹"], current=None, accept=False, pending=pending) == Decision(
        PENDING, ["蟹"]
    )
    assert decide(mode=ADD, value="虾", current=None, accept=True, pending=pending) == Decision(CREATED, ["虾"])


NOW = datetime(2026, 11, 22, 10, 30, tzinfo=UTC)


def say(user: User, key: str, value: Any, *, day: int, mode: str = "replace", sure: float = 0.95) -> list[MemoryUpdate]:
    session = SessionFactory(user=user)
    said_at = NOW - timedelta(days=100 - day)
    message = Message.objects.create(
        session=session, user=user, role=Role.USER, content=str(value), create_time=said_at, position=1
    )
    source = "user_stated" if sure > 0.9 else "inferred"
    return record(user, entry(key, value, mode=mode, confidence=sure, source=source), message=message, now=NOW)


def active_value(user: User, key: str) -> Any:
    return LongTermMemory.objects.get(user=user, key=key, status=Status.ACTIVE).value


@pytest.mark.spec("C9")
@pytest.mark.parametrize(("key", "old", "new"), [("居住地", "北京", "上海"), ("lives in", "Bonn", "Berlin")])
def test_an_older_value_is_kept_as_history(key: str, old: str, new: str, user: User) -> None:
    say(user, key, new, day=9)
    for _again in range(2):
        assert say(user, key, old, day=3) == []
    assert active_value(user, key) == new
    (history,) = LongTermMemory.objects.filter(user=user, status=Status.SUPERSEDED)
    assert (history.value, history.superseded_by and history.superseded_by.value) == (old, new)
    assert history.message.create_time == NOW - timedelta(days=97)


def test_the_same_said_before_refreshes(user: User) -> None:
    (made,) = say(user, "居住地", "上海", day=9)
    (update,) = say(user, "居住地", "上海", day=3)
    assert (update.id, update.action) == (made.id, "refreshed")


def test_an_older_guess_leaves_nothing(user: User) -> None:
    say(user, "居住地", "上海", day=9)
    say(user, "居住地", "北京", day=3, sure=0.4)
    assert [row.value for row in LongTermMemory.objects.filter(user=user)] == ["上海"]


@pytest.mark.long
@pytest.mark.django_db
@pytest.mark.spec("C9")
def test_in_whichever_order_the_messages_of_a_list_come() -> None:
    told: list[tuple[int, str, list[str]]] = [
        (1, "add", ["爬山"]),
        (2, "add", ["coffee"]),
        (3, "remove", ["coffee"]),
        (4, "add", ["下棋"]),
    ]
    for order in ([0, 1, 2, 3], [0, 1, 3, 2], [1, 2, 3, 0], [0, 3, 1, 2]):
        user = UserFactory()
        for index in order:
            day, mode, value = told[index]
            say(user, "喜欢的事物", value, day=day, mode=mode)
        assert sorted(active_value(user, "喜欢的事物")) == ["下棋", "爬山"], order


def version(day: int, *items: str) -> Version:
    return Version(list(items), NOW + timedelta(days=day))


@pytest.mark.parametrize(
    ("mode", "value", "expected"),
    [
        (Mode.ADD, ["游泳", "coffee"], ["游泳"]),
        (Mode.ADD, "coffee", None),
        (Mode.REMOVE, ["爬山"], ["爬山"]),
        (Mode.REMOVE, ["下棋"], None),
    ],
)
def test_what_later_versions_leave_of_a_change(mode: Mode, value: Any, expected: Any) -> None:
    versions = [version(1, "爬山", "Coffee"), version(3, "爬山"), version(4, "爬山", "下棋")]
    assert drop_stale(mode=mode, value=value, said_at=NOW + timedelta(days=2), versions=versions) == expected
