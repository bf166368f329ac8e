"""Empty the database after a test with real transactions, quicker than Django does.

Django truncates every table and makes permissions and content types again: a fifth of a second for each such test.
Here only tables that hold rows are emptied, and what migrations put in is left alone or put back. A plugin of pytest.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, models, transaction
from django.test import TransactionTestCase

_KEPT = {"django_content_type", "auth_permission"}
"""What Django makes once, when it migrates, and no test changes."""

_defaults: list[models.Model] = []
"""Rows that migrations make and tests change: the strategies."""


def empty_database() -> None:
    """Delete every row that a test may have made; default rows are as after the migrations."""
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    tables = sorted({*names} - _KEPT)
    with transaction.atomic(), connection.cursor() as cursor:
        # Who still writes is waited for: no row of this test may come later.
        cursor.execute(f"LOCK TABLE {', '.join(tables)} IN SHARE ROW EXCLUSIVE MODE")
        filled = "SELECT '{0}', EXISTS (SELECT FROM {0} OFFSET 1000) WHERE EXISTS (SELECT FROM {0})"
        cursor.execute(" UNION ALL ".join(filled.format(table) for table in tables))
        found = cursor.fetchall()
        # A foreign key is checked for each deleted row, by a plan that is kept. One made while the table was empty
        # reads all of it each time; so does one made without statistics, which takes any index that begins with the
        # user. 20,000 messages took minutes.
        for table, is_large in found:
            if is_large:
                cursor.execute(f"ANALYZE {table}")
        cursor.execute("DISCARD PLANS; SET LOCAL enable_seqscan = off")
        for table, _is_large in found:
            cursor.execute(f"DELETE FROM {table}")
        apps.get_model("chat", "Strategy").objects.bulk_create(_defaults)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    """Keep the rows that migrations have made, before any test has changed them."""
    result = yield
    if fixturedef.argname == "django_db_setup":
        with request.getfixturevalue("django_db_blocker").unblock():
            _defaults[:] = apps.get_model("chat", "Strategy").objects.all()
    return result


def pytest_configure() -> None:
    """Have tests with real transactions end with `empty_database`."""
    TransactionTestCase._fixture_teardown = lambda _case: empty_database()  # type: ignore[attr-defined]
