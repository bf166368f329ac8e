"""What becomes of requests when the database's connections are gone."""

from __future__ import annotations

import pytest
from django.db import DataError, OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.conversations.models import Session
from apps.core.db import fetch_prepared
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
    monkeypatch.setattr("apps.chat.api.list_sessions", refuse)
    response = alice.get("/chat/sessions")
    assert (response.status_code, response.json()["error"]["code"]) == (503, "unavailable")
    assert response.headers["Retry-After"] == "5"
    assert "refused" not in response.text
    assert Session.objects.count() == 1


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


@pytest.mark.django_db
def test_a_prepared_statement_fails_and_is_counted_like_any_other():
    with CaptureQueriesContext(connection) as captured, transaction.atomic():
        assert fetch_prepared("SELECT %(number)s::int", {"number": 3}) == [(3,)]
    assert "SELECT %(number)s::int" in [query["sql"] for query in captured]
    with pytest.raises(DataError), transaction.atomic():
        fetch_prepared("SELECT 1 / %(number)s::int", {"number": 0})
