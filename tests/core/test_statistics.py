"""Statistics of tables that were just filled are refreshed before somebody is erased."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.services.erasure import erase_user
from apps.conversations.recordings import record_turns
from apps.conversations.sessions import create_session
from apps.conversations.types import RecordedMessage
from apps.core.postgresql.statistics import ROWS, refresh_statistics

pytestmark = pytest.mark.long

TABLES = ["chat_session", "conversation"]


@pytest.fixture
def mei(transactional_db: None) -> Iterator[User]:
    """Somebody with so many messages that the statistics are stale, and nobody else refreshes them."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE conversation SET (autovacuum_enabled = false)")
        cursor.execute("ANALYZE chat_session, conversation")
    user = User.objects.create_user("mei")
    record_turns(
        user=user,
        session_id=create_session(user=user).id,
        messages=[RecordedMessage(role="user", content=f"我喜欢 {number}") for number in range(ROWS + 1)],
        idempotency_key=None,
        now=timezone.now(),
    )
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
    yield user
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE conversation RESET (autovacuum_enabled)")


@contextmanager
def analyzed_elsewhere(table: str) -> Iterator[None]:
    """Hold the lock of somebody who analyzes the table."""
    with psycopg.connect(**connection.get_connection_params()) as other:
        other.execute(f"LOCK TABLE {table} IN SHARE UPDATE EXCLUSIVE MODE")
        yield


def count_estimated() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE oid = 'conversation'::regclass")
        return int(cursor.fetchone()[0])


def test_only_tables_that_were_filled_are_analyzed(mei: User) -> None:
    assert count_estimated() == 0
    assert refresh_statistics(TABLES) == ["conversation"]
    assert count_estimated() == ROWS + 1
    assert refresh_statistics(TABLES) == []


def test_whoever_is_at_the_table_already_is_not_waited_for(mei: User, caplog: pytest.LogCaptureFixture) -> None:
    with analyzed_elsewhere("conversation"):
        assert refresh_statistics(TABLES) == []
    assert "statistics.not_refreshed" in caplog.text
    assert count_estimated() == 0


@pytest.mark.spec("R3")
def test_an_erasure_begins_with_it(mei: User) -> None:
    assert erase_user(user=mei).deleted["conversation"] == ROWS + 1
    assert count_estimated() == ROWS + 1
