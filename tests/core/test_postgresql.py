"""What becomes of requests when the database's connections are gone; prepared statements, statistics, and Citus."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import NotSupportedError, OperationalError, connection, transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.services.erasure import erase_user
from apps.backup.postgresql import BackupError, Database
from apps.conversations.models import Session
from apps.conversations.recordings import record_turns
from apps.conversations.sessions import create_session
from apps.conversations.types import RecordedMessage
from apps.conversations.worker import is_database_away
from apps.core.db import fetch_prepared, fetch_rows, insert_rows
from apps.core.errors import Unavailable
from apps.core.outages import describe_outage
from apps.core.postgresql.base import DatabaseWrapper
from apps.core.postgresql.statistics import ROWS, refresh_statistics
from tests.support.http_server import ApiClient

END_CONNECTIONS = """
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


def test_requests_get_over_a_restarted_database(alice: ApiClient):
    for _number in range(3):
        alice.new_session()
        with connection.cursor() as cursor:
            cursor.execute(END_CONNECTIONS)
            (ended,) = cursor.fetchone()
        assert ended >= 1
        response = alice.get("/chat/sessions")
        assert response.status_code == 200
    assert response.json()["count"] == 3


def test_without_a_database_the_answer_is_503_and_when_to_try_again(alice: ApiClient, monkeypatch: pytest.MonkeyPatch):
    def refuse(_user: User) -> None:
        raise OperationalError("connection refused")

    alice.new_session()
    monkeypatch.setattr("apps.chat.session_api.SessionsView.rows", staticmethod(refuse))
    response = alice.get("/chat/sessions")
    assert (response.status_code, response.json()["error"]["code"]) == (503, "unavailable")
    assert response.headers["Retry-After"] == "5"
    assert "refused" not in response.text
    assert Session.objects.count() == 1


@pytest.mark.django_db
@pytest.mark.parametrize("write", [lambda user: user.save(), lambda user: insert_rows([user])])
def test_a_standby_that_takes_no_writes_is_a_database_that_is_away(write: Callable[[User], None]):
    def write_to_standby() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
            write(User(username="Alice"))

    with pytest.raises(OperationalError) as caught:
        write_to_standby()
    assert type(describe_outage(caught.value)) is Unavailable
    assert is_database_away(caught.value)


def test_answers_are_not_kept_in_caches(alice: ApiClient):
    assert alice.get("/chat/sessions").headers["Cache-Control"] == "private, no-store"
    assert alice.get("/login").headers["Cache-Control"] != "private, no-store"  # Django's own word stands


@pytest.mark.django_db
def test_a_prepared_statement_is_planned_once_whatever_its_parameters():
    statement = "SELECT username, %(word)s::text FROM accounts_user WHERE id = %(user)s /* planned once */"
    users = [User.objects.create(username=name) for name in ("Alice", "小红")]
    for user in users * 3:
        assert fetch_prepared(statement, {"user": user.pk, "word": "记忆"}) == [(user.username, "记忆")]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE statement LIKE '%planned once%'"
        )
        assert cursor.fetchall() == [(6, 0)]


@pytest.fixture
def widen(transactional_db: None) -> Iterator[Any]:
    """Widen the column ``word`` of a table ``word`` with one row, as a migration does while this process goes on."""
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("CREATE TABLE word (word varchar(10)); INSERT INTO word VALUES ('记忆')")

        def widen() -> None:
            cursor.execute("ALTER TABLE word ALTER COLUMN word TYPE text")

        yield widen
        cursor.execute("DROP TABLE word")
    other.close()


READ_WORD = "SELECT word FROM word WHERE word = %(word)s"


def test_a_prepared_statement_is_prepared_anew_when_a_migration_changed_its_types(widen: Any):
    for _number in range(2):
        assert fetch_prepared(READ_WORD, {"word": "记忆"}) == [("记忆",)]
        widen()
    assert fetch_prepared(READ_WORD, {"word": "记忆"}) == [("记忆",)]


def test_a_transaction_is_lost_by_such_a_migration_and_the_next_one_is_not(widen: Any):
    assert fetch_prepared(READ_WORD, {"word": "记忆"}) == [("记忆",)]
    widen()
    with pytest.raises(NotSupportedError), transaction.atomic():
        fetch_prepared(READ_WORD, {"word": "记忆"})
    with transaction.atomic():
        assert fetch_prepared(READ_WORD, {"word": "记忆"}) == [("记忆",)]


@pytest.fixture
def connect(db: None) -> Iterator[Any]:
    """Put a new connection with the given options, outside of the pool, in the place of the test's own."""
    with pytest.MonkeyPatch.context() as patch:
        opened: list[DatabaseWrapper] = []

        def connect(**options: Any) -> None:
            wrapper = connection.copy()
            wrapper.settings_dict = {**wrapper.settings_dict, "OPTIONS": options}
            opened.append(wrapper)
            patch.setattr("apps.core.db.connections", {"default": wrapper})

        yield connect
        for wrapper in opened:
            wrapper.close()


SHOW = "SELECT current_setting('statement_timeout'), current_setting('plan_cache_mode')"


def test_options_of_the_environment_hold_unless_the_database_has_its_own(connect: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PGOPTIONS", "-c statement_timeout=7777")
    connect()
    assert fetch_prepared(SHOW, {}) == [("7777ms", "force_generic_plan")]
    connect(options="-c statement_timeout=8888")
    assert fetch_prepared(SHOW, {}) == [("8888ms", "force_generic_plan")]
    connect(prepared_statements=False)
    assert fetch_prepared(SHOW, {}) == [("7777ms", "auto")]


def test_nothing_is_prepared_nor_asked_for_at_the_start_where_the_options_say_so(connect: Any):
    prepared = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE %(like)s"
    connect(prepared_statements=False)
    assert fetch_prepared("SELECT %(word)s::text", {"word": "记忆"}) == [("记忆",)]
    assert fetch_rows(prepared, {"like": "SELECT $1%"}) == [(0,)]
    connect()
    assert fetch_prepared("SELECT %(word)s::text", {"word": "记忆"}) == [("记忆",)]
    assert fetch_rows(prepared, {"like": "SELECT $1%"}) == [(1,)]


def test_rows_are_read_in_portions_by_a_cursor_of_the_server_in_transactions_only(transactional_db: None):
    for name in ("Alice", "小红"):
        User.objects.create(username=name)
    users = User.objects.order_by("id").values_list("username", flat=True)
    with transaction.atomic():
        rows = users.iterator(chunk_size=1)
        assert (next(rows), fetch_rows("SELECT count(*) FROM pg_cursors", {})) == ("Alice", [(1,)])
        assert list(rows) == ["小红"]
    rows = users.iterator(chunk_size=1)
    assert (next(rows), fetch_rows("SELECT count(*) FROM pg_cursors", {})) == ("Alice", [(0,)])
    assert list(rows) == ["小红"]


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


@pytest.mark.long
def test_only_tables_that_were_filled_are_analyzed(mei: User) -> None:
    assert count_estimated() == 0
    assert refresh_statistics(TABLES) == ["conversation"]
    assert count_estimated() == ROWS + 1
    assert refresh_statistics(TABLES) == []


@pytest.mark.long
def test_whoever_is_at_the_table_already_is_not_waited_for(mei: User, caplog: pytest.LogCaptureFixture) -> None:
    with analyzed_elsewhere("conversation"):
        assert refresh_statistics(TABLES) == []
    assert "statistics.not_refreshed" in caplog.text
    assert count_estimated() == 0


@pytest.mark.long
@pytest.mark.spec("R3")
def test_an_erasure_begins_with_it(mei: User) -> None:
    assert erase_user(user=mei).deleted["conversation"] == ROWS + 1
    assert count_estimated() == ROWS + 1


@pytest.mark.django_db
@pytest.mark.parametrize("options", [[], ["--dry-run"]])
def test_without_citus_the_command_says_so(options: list[str]) -> None:
    with pytest.raises(CommandError, match=r"does not have Citus.*docs/deployment\.md"):
        call_command("distribute", *options)


def test_one_schema_of_a_database_is_no_backup_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def parameters(_wrapper: DatabaseWrapper) -> dict[str, Any]:
        return {"dbname": "jiyi", "options": "-c search_path=team_a,public"}

    monkeypatch.setattr(DatabaseWrapper, "get_connection_params", parameters)
    with pytest.raises(BackupError, match=r"one schema of its database"):
        Database.of_django()
