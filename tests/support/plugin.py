"""A plugin of pytest: which tests are long, how long each may take, and what is emptied between tests."""

from __future__ import annotations

import re
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, connections, models, transaction
from django.test import TransactionTestCase
from psycopg.pq import TransactionStatus
from servestatic.middleware import ServeStaticMiddleware

from apps.memory.vectors import queries

# Of each parameter of a test the quick run takes so many values, the first ones.
QUICK_CASES = 2

_ALL_LONG = re.compile(r"^pytestmark = .*\bpytest\.mark\.long\b(?!_)", re.MULTILINE)
_LONG_TEST_SECONDS = 900
_SESSION_FIXTURE_SECONDS = 600

# What Django makes once, when it migrates, and no test changes.
_KEPT = {"django_content_type", "auth_permission"}

_found_files: dict[str, Any] = {}
_defaults: list[models.Model] = []


def pytest_configure() -> None:
    """Have tests with real transactions end with `empty_database`, and static files found once for all clients."""
    TransactionTestCase._fixture_teardown = lambda _case: empty_database()  # type: ignore[attr-defined]
    find = ServeStaticMiddleware.add_files_from_finders

    # Each client of Django or DRF builds the middleware, which looks at every static file of every app: most of what an
    # ordinary request of a test cost. The files are the same for all.
    def find_once(self: ServeStaticMiddleware) -> None:
        if not _found_files:
            find(self)
            _found_files.update(self.files)
        self.files.update(_found_files)

    ServeStaticMiddleware.add_files_from_finders = find_once  # type: ignore[method-assign]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import modules of long tests alone where none is wanted; importing takes most of the time of a start."""
    named = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    if named and "not long" in config.option.markexpr and _ALL_LONG.search(collection_path.read_text("utf-8")):
        return True
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: object
) -> list[pytest.Item] | None:
    """Make no tests of a long function where none is wanted: most of the time of a start went there."""
    if "not long" not in collector.config.option.markexpr or not name.startswith("test_"):
        return None
    only = collector.get_closest_marker("long_except")
    is_long = any(mark.name == "long" for mark in getattr(obj, "pytestmark", ()))
    return [] if is_long or (only is not None and name not in only.args) else None


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The same of cases, after every parameter has its values; pytest lets nobody leave a case out but by its list."""
    if "not long" in metafunc.config.option.markexpr:
        metafunc._calls = [call for call in metafunc._calls if max(call.indices.values(), default=0) < QUICK_CASES]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as long all tests of a module but those that its ``long_except("test_a", …)`` names, and most cases; give
    long tests more time than others, unless they ask for even more.
    """
    for item in items:
        case = getattr(item, "callspec", None)
        if case is not None and any(place >= QUICK_CASES for place in case.indices.values()):
            item.add_marker(pytest.mark.long)
        marker = item.get_closest_marker("long_except")
        if marker is not None and isinstance(item, pytest.Function):
            for name in marker.args:
                if not hasattr(item.module, name):
                    raise pytest.UsageError(f"{item.nodeid}: long_except names {name}, which is not there.")
            if item.originalname not in marker.args:
                item.add_marker(pytest.mark.long)
        own = item.get_closest_marker("timeout")
        if item.get_closest_marker("long") and (own is None or own.args[0] < _LONG_TEST_SECONDS):
            item.add_marker(pytest.mark.timeout(_LONG_TEST_SECONDS), append=False)  # the closest one


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    """Give what is made once for all tests time of its own: if it failed, so would every test that uses it.

    Of the database, keep the rows that migrations have made, before any test has changed them.
    """
    if fixturedef.scope != "session":
        return (yield)
    left, _ = signal.getitimer(signal.ITIMER_REAL)  # the timer of pytest-timeout
    signal.setitimer(signal.ITIMER_REAL, max(left, _SESSION_FIXTURE_SECONDS))
    try:
        result = yield
        if fixturedef.argname == "django_db_setup":
            with request.getfixturevalue("django_db_blocker").unblock():
                _defaults[:] = apps.get_model("chat", "Strategy").objects.all()
        return result
    finally:
        signal.setitimer(signal.ITIMER_REAL, left)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Iterator[None]:
    """End queries that a time limit has left running, with their connections; Django connects again.

    psycopg refuses every further statement of such a connection, the rollback included.
    """
    if call.excinfo is not None:
        for each in connections.all(initialized_only=True):
            raw = each.connection
            if raw is not None and raw.pgconn.transaction_status == TransactionStatus.ACTIVE:
                raw.cancel_safe()
                # Within a transaction Django closes its own side when the rollback fails.
                raw.close() if each.in_atomic_block else each.close()
    return (yield)


def empty_database() -> None:
    """Delete every row that a test may have made; default rows are as after the migrations.

    Django truncates every table and makes permissions and content types again: a fifth of a second for each test.
    """
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


def wait_for_queries() -> None:
    """Wait until every query that was begun is embedded or given up; the next one finds new threads."""
    if queries._get_pool.cache_info().currsize:
        queries._get_pool().shutdown()
        queries._get_pool.cache_clear()


@pytest.fixture(autouse=True)
def _queries_end() -> Iterator[None]:
    """Leave the embedding of a test's queries to that test: a late one would ask the next test's model again."""
    yield
    wait_for_queries()
