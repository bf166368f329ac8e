"""Wake the workers without ever making a request wait for the broker.

A task is sent by name and without arguments, from a thread of its own: the broker may be slow or gone. A call that
gets lost costs time only, as the state of the work is in PostgreSQL and a periodic sweep looks there (DESIGN, rule 4).
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Collection
from functools import lru_cache, partial

import structlog
from celery import current_app
from django.db import transaction

logger = structlog.get_logger(__name__)

TASKS = {
    "embed": "apps.pipeline.tasks.embed",
    "extract": "apps.pipeline.tasks.extract",
    "summarize": "apps.pipeline.tasks.summarize",
}
"""The task for each kind of work (`Work.Kind`). A task is sent without arguments: it asks PostgreSQL what is due."""


class _Sender:
    """Sends names of tasks from a daemon thread; a name that already waits to be sent is not sent twice."""

    def __init__(self) -> None:
        self._names: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._waiting: set[str] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._run, name="task-sender", daemon=True).start()

    def send(self, name: str) -> None:
        with self._lock:
            if name in self._waiting:
                return
            self._waiting.add(name)
        self._names.put(name)

    def _run(self) -> None:
        while True:
            name = self._names.get()
            with self._lock:
                self._waiting.discard(name)
            try:
                current_app.send_task(name, retry=False, ignore_result=True)
            except Exception as error:  # whatever the broker does, later calls must get their chance
                logger.warning("task_not_sent", task=name, cause=type(error).__name__)


@lru_cache(maxsize=1)
def _get_sender() -> _Sender:
    return _Sender()


os.register_at_fork(after_in_child=_get_sender.cache_clear)
"""A forked process has no threads: without one of its own it would send nothing."""


def send_task(name: str) -> None:
    """Send the task to its queue soon; returns at once and never fails."""
    _get_sender().send(name)


def warm_up() -> None:
    """Load what sending takes now, so that the first turn of a process does not wait for it."""
    current_app.amqp.send_task_message  # noqa: B018 (each of these three is made, and its modules read, when it is asked for)
    current_app.backend  # noqa: B018
    current_app.AsyncResult  # noqa: B018
    current_app.connection_for_write().get_transport_cls()


def wake_workers(kinds: Collection[str]) -> None:
    """Tell the workers, once the transaction commits, that work of these kinds is due; a lost call costs only time."""
    for kind in kinds:
        transaction.on_commit(partial(send_task, TASKS[kind]))
