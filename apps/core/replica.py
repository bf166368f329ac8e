"""Reads from a standby of PostgreSQL, for requests that only look (docs/deployment.md, `REPLICA_DATABASE_URL`).

Nobody sees anything later than at the primary: the standby is asked only if it has replayed everything that was
committed when the request came, whoever wrote it. Where it has not, or is away, the primary answers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import structlog
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, connections
from prometheus_client import Counter

REPLICA = "replica"
"""The alias of the standby in ``DATABASES``, which is there only where ``REPLICA_DATABASE_URL`` is set."""

WAIT_SECONDS = 0.1
"""How long a standby that is a little behind is waited for."""

AVOID_SECONDS = 10.0
"""How long one that failed is left alone by this process."""

_POLL_SECONDS = 0.01

# A standby without a WAL receiver follows nobody: its primary was lost, and another one may have taken over.
_HAS_REPLAYED = (
    "SELECT pg_is_in_recovery() AND EXISTS (SELECT FROM pg_stat_wal_receiver)"
    " AND COALESCE(pg_last_wal_replay_lsn() >= %s::pg_lsn, false)"
)

READS = Counter("jiyi_replica_reads", "Pages and exports that a standby may answer, by who answered", ["database"])

logger = structlog.get_logger(__name__)


@dataclass
class _Reading:
    """One request that only looks, for as long as it does."""

    from_replica: bool


_reading: ContextVar[_Reading | None] = ContextVar("reading", default=None)
_avoided_until = 0.0


class ReplicaRouter:
    """Django's router: within `read_from` the ORM reads from the replica, and everything else is the primary's.

    From the first write on, and in a transaction of the primary, reads are the primary's as well.
    """

    def db_for_read(self, model: Any, instance: Any = None, **_hints: Any) -> str | None:
        reading = _reading.get()
        home = instance._state.db if instance is not None else None
        if home not in (None, DEFAULT_DB_ALIAS, REPLICA):
            return None
        if reading and reading.from_replica and not connections[DEFAULT_DB_ALIAS].in_atomic_block:
            return REPLICA
        return DEFAULT_DB_ALIAS if home == REPLICA else None

    def db_for_write(self, model: Any, instance: Any = None, **_hints: Any) -> str | None:
        if reading := _reading.get():
            reading.from_replica = False
        return DEFAULT_DB_ALIAS if instance is not None and instance._state.db == REPLICA else None

    def allow_relation(self, one: Any, other: Any, **_hints: Any) -> bool | None:
        return True if {one._state.db, other._state.db} <= {DEFAULT_DB_ALIAS, REPLICA} else None

    def allow_migrate(self, db: str, app_label: str, **_hints: Any) -> bool | None:
        return False if db == REPLICA else None


def choose_database() -> str:
    """Return the alias to read from: the replica's if it has everything that is committed by now."""
    if REPLICA not in settings.DATABASES:
        return DEFAULT_DB_ALIAS
    chosen = REPLICA if time.monotonic() >= _avoided_until and _has_everything() else DEFAULT_DB_ALIAS
    READS.labels(database="replica" if chosen == REPLICA else "primary").inc()
    return chosen


@contextmanager
def read_from(database: str) -> Iterator[None]:
    """Within, the ORM reads from this database, as `choose_database` returned it."""
    token = _reading.set(_Reading(from_replica=database == REPLICA))
    try:
        yield
    finally:
        _reading.reset(token)


def give_up() -> bool:
    """Read from the primary from now on, after an error of the database; false if that was who answered already."""
    reading = _reading.get()
    if reading is None or not reading.from_replica:
        return False
    reading.from_replica = False
    _avoid()
    return True


def _has_everything() -> bool:
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute("SELECT pg_current_wal_flush_lsn()")  # a commit is answered once it is flushed
        (committed,) = cursor.fetchone()
    until = time.monotonic() + WAIT_SECONDS
    try:
        while True:
            with connections[REPLICA].cursor() as cursor:
                cursor.execute(_HAS_REPLAYED, [committed])
                if cursor.fetchone()[0]:
                    return True
            if time.monotonic() >= until:
                return False
            time.sleep(_POLL_SECONDS)
    except Error as error:
        logger.warning("replica_failed", error=str(error))
        _avoid()
        return False


def _avoid() -> None:
    global _avoided_until
    _avoided_until = time.monotonic() + AVOID_SECONDS
