"""Long-term memory does not go on contradicting what the extraction found, with rules or a real model (A3, L3)."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.accounts.models import User
from apps.conversations.models import Message, Role, Work
from apps.conversations.queue.services import add_work, claim_rounds
from apps.memory.long_term.services import record_entries
from apps.memory.long_term.types import ProposedEntry
from apps.memory.models import LongTermMemory, Status
from apps.pipeline.extraction import extract
from tests.support.factories import SessionFactory, UserFactory

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 22, 10, 30, tzinfo=UTC)
DUE = datetime(2026, 1, 1, tzinfo=UTC)


def play(user: User, text: str, *, day: int, entry: tuple[str, Any, str] | None = None) -> None:
    """Say `text`; `entry`: what the turn itself took from it (key, value, mode). Then extract."""
    said_at = NOW - timedelta(days=100 - day)
    session = SessionFactory(user=user)
    message = Message.objects.create(
        session=session, user=user, role=Role.USER, content=text, create_time=said_at, position=1
    )
    if entry:
        key, value, mode = entry
        record_entries(
            user=user,
            entries=[ProposedEntry(category="fact", key=key, value=value, mode=mode)],
            session_id=session.id,
            message_id=message.id,
            said_at=said_at,
            message_text=text,
            auto_accept_confidence=0.7,
            now=NOW,
        )
    add_work(messages=[message], kinds=[Work.Kind.EXTRACT], now=DUE)
    claim = claim_rounds(uuid.uuid4().hex)
    assert claim is not None
    extract(claim)


def values(user: User) -> dict[str, Any]:
    return dict(LongTermMemory.objects.filter(user=user, status=Status.ACTIVE).values_list("key", "value"))


@pytest.mark.spec("A3", "L3")
@pytest.mark.parametrize(
    ("before", "entry", "after", "expected"),
    [
        ("我住在北京", ("居住地", "北京", "replace"), "上周六我搬到上海了", {"居住地": "上海"}),
        ("我住在北京", ("现居城市", "北京", "replace"), "上周六我搬到上海了", {"现居城市": "上海"}),
        ("我住在上海", ("居住地", "上海市浦东新区", "replace"), "我住在上海，很好", {"居住地": "上海市浦东新区"}),
        ("I live in Bonn", ("home", "Bonn", "replace"), "Last month I moved to Berlin", {"home": "Berlin"}),
        ("I work as a nurse", ("job", "nurse", "replace"), "My sister works as a pilot", {"job": "nurse"}),
        ("I live in Bonn", ("home", "Bonn", "replace"), "Last year I lived in Rome", {"home": "Bonn"}),
    ],
)
def test_what_a_turn_missed_reaches_the_memory_that_is_there(
    before: str, entry: tuple[str, Any, str], after: str, expected: dict[str, Any]
) -> None:
    user = UserFactory()
    play(user, before, day=1, entry=entry)
    play(user, after, day=2)
    assert values(user) == expected


@pytest.mark.spec("A3", "L3", "C9")
def test_an_older_message_changes_nothing_said_later() -> None:
    user = UserFactory()
    play(user, "我住在上海", day=9, entry=("居住地", "上海", "replace"))
    play(user, "我搬到北京了", day=3)
    assert values(user) == {"居住地": "上海"}


@pytest.mark.spec("A3", "L3")
def test_what_ends_without_another_value_ends_here_too() -> None:
    user = UserFactory()
    play(user, "我在腾讯上班", day=1, entry=("工作单位", "腾讯", "replace"))
    play(user, "我从腾讯辞职了", day=2)
    assert values(user) == {}


@pytest.mark.spec("L3")
def test_nothing_new_is_learned_from_an_atomic_memory() -> None:
    user = UserFactory()
    play(user, "我搬到上海了", day=1)
    assert values(user) == {}
