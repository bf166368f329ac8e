"""Let a test that runs out of time fail alone. A plugin of pytest.

A slow machine runs all groups of the suite at half speed; one test too late must not take a hundred others with it.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from django.db import connections
from psycopg.pq import TransactionStatus

_LONG_TEST_SECONDS = 900
_SESSION_FIXTURE_SECONDS = 600


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give long tests more time than others, unless they ask for even more."""
    for item in items:
        own = item.get_closest_marker("timeout")
        if item.get_closest_marker("long") and (own is None or own.args[0] < _LONG_TEST_SECONDS):
            item.add_marker(pytest.mark.timeout(_LONG_TEST_SECONDS), append=False)  # the closest one


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> Iterator[None]:
    """Give what is made once for all tests time of its own: if it failed, so would every test that uses it."""
    if fixturedef.scope != "session":
        return (yield)
    left, _ = signal.setitimer(signal.ITIMER_REAL, _SESSION_FIXTURE_SECONDS)  # the timer of pytest-timeout
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, left)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Iterator[None]:
    """End queries that a time limit has left running, with their connections; Django connects again.

    psycopg refuses every further statement of such a connection, the rollback included.
    """
    if call.excinfo is not None:
        for connection in connections.all(initialized_only=True):
            raw = connection.connection
            if raw is not None and raw.pgconn.transaction_status == TransactionStatus.ACTIVE:
                raw.cancel_safe()
                # Within a transaction Django closes its own side when the rollback fails.
                raw.close() if connection.in_atomic_block else connection.close()
    return (yield)
