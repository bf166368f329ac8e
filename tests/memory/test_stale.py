"""Messages that come late: imported history and background work never undo what was said after them (L3, C9)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.accounts.models import User
from apps.conversations.models import Message, Role
from apps.memory.keyed import MemoryUpdate, Mode, Version, drop_stale
from apps.memory.models import LongTermMemory, Status
from tests.support.entries import entry, record
from tests.support.factories import SessionFactory, UserFactory

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


@pytest.mark.django_db
@pytest.mark.spec("L3", "C9")
@pytest.mark.parametrize(("key", "old", "new"), [("居住地", "北京", "上海"), ("lives in", "Bonn", "Berlin")])
def test_an_older_value_is_kept_as_history(key: str, old: str, new: str) -> None:
    user = UserFactory()
    say(user, key, new, day=9)
    for _again in range(2):
        assert say(user, key, old, day=3) == []
    assert active_value(user, key) == new
    (history,) = LongTermMemory.objects.filter(user=user, status=Status.SUPERSEDED)
    assert (history.value, history.superseded_by and history.superseded_by.value) == (old, new)
    assert history.message is not None
    assert history.message.create_time == NOW - timedelta(days=97)


@pytest.mark.django_db
@pytest.mark.spec("L3")
def test_the_same_said_before_refreshes() -> None:
    user = UserFactory()
    (made,) = say(user, "居住地", "上海", day=9)
    (update,) = say(user, "居住地", "上海", day=3)
    assert (update.id, update.action) == (made.id, "refreshed")


@pytest.mark.django_db
@pytest.mark.spec("L2", "L3")
def test_an_older_guess_leaves_nothing() -> None:
    user = UserFactory()
    say(user, "居住地", "上海", day=9)
    say(user, "居住地", "北京", day=3, sure=0.4)
    assert [row.value for row in LongTermMemory.objects.filter(user=user)] == ["上海"]


@pytest.mark.long
@pytest.mark.django_db
@pytest.mark.spec("L3", "C9")
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
