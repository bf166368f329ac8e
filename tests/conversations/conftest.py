from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from apps.conversations import queue
from apps.conversations.models import Session
from apps.core.db import release_connections
from tests.support.factories import SessionFactory

BLOCKED = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
Run = Callable[..., "Future[Any]"]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the tasks that were sent, in place of sending them."""
    names: list[str] = []
    monkeypatch.setattr(queue, "send_task", names.append)
    return names


@pytest.fixture
def session(db: None) -> Session:
    return SessionFactory.create()


@pytest.fixture
def run_until_blocked() -> Iterator[Run]:
    """Start a function in a connection of its own; returns once it waits for a lock."""
    with ThreadPoolExecutor(1) as pool:

        def run(function: Callable[..., Any], **arguments: Any) -> Future[Any]:
            def work() -> Any:
                try:
                    return function(**arguments)
                finally:
                    release_connections()

            future = pool.submit(work)
            with connection.cursor() as cursor:
                while not future.done():
                    cursor.execute(BLOCKED)
                    if cursor.fetchone() != (0,):
                        return future
            pytest.fail(f"It did not have to wait: {future.exception() or future.result()}")

        yield run
