"""Erasing everything remembered about a person, everywhere, and checking that it is gone (R3)."""

from __future__ import annotations

import time
from dataclasses import dataclass

import structlog
from django.core.cache import cache
from django.db import DEFAULT_DB_ALIAS, OperationalError, connection, transaction
from django.db.models import Count, TextField, Value
from psycopg import errors
from redis.exceptions import RedisError
from rest_framework.throttling import UserRateThrottle

from apps.accounts.models import User
from apps.accounts.services.guessing import forget_attempts_at
from apps.accounts.services.ledger import record_person
from apps.accounts.services.personal_data import list_tables
from apps.core.cache_invalidation import mark_erasure
from apps.core.postgresql.statistics import refresh_statistics

logger = structlog.get_logger(__name__)

QUEUE_TIMEOUT = "10s"
"""How long to wait for those who are writing memories. Nothing is locked meanwhile; who comes later waits behind."""

LOCK_TIMEOUT = "500ms"
"""How long to wait for somebody's lock: less than PostgreSQL waits before it looks for deadlocks (1 s), so where two
wait for each other it is the erasure that lets go and tries again, never the request of somebody else that fails."""

ATTEMPTS = 20
PAUSE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Receipt:
    """What an erasure deleted, by table, and whether reading everything back found nothing left."""

    deleted: dict[str, int]
    verified: bool


def erase_user(*, user: User, again: bool = False) -> Receipt:
    """Delete all that is remembered about a person, in one transaction; the account and its tokens stay (R3).

    Turns and tasks under way find another `data_epoch` than they began with, and store nothing. Then the person's keys
    in the cache go, every process forgets what it has read of texts, and everything is read back. Messages to workers
    need no clearing: they carry no arguments. A record of it stays (`apps.accounts.services.ledger`), by which the
    person is erased again after an older backup was restored; with `again` there is one already.
    """
    refresh_statistics([table.name for table in list_tables()])
    for attempt in range(ATTEMPTS):
        try:
            deleted = _delete_rows(user, record=not again)
            break
        except OperationalError as error:
            contended = isinstance(error.__cause__, errors.LockNotAvailable | errors.DeadlockDetected)
            if not contended or attempt == ATTEMPTS - 1 or connection.in_atomic_block:
                raise
            time.sleep(PAUSE_SECONDS)
    verified = _clear_cache(user) and not any(count_rows(user).values())
    logger.warning("user.erased", user_id=user.pk, deleted=deleted, verified=verified)
    return Receipt(deleted=deleted, verified=verified)


def confirms_erasure(user: User, text: str) -> bool:
    """Whether somebody who is asked to confirm has typed whose data is erased: the username or, of an end user, the ID
    that the service gave them (T4).
    """
    return text == user.get_username() or (user.service_id is not None and text == user.external_id)


def count_rows(user: User) -> dict[str, int]:
    """Return how many rows each table holds of a person, read in one statement."""
    tables = list_tables()
    counted = [
        table.rows(user).order_by().values_list(Value(table.name, output_field=TextField())).annotate(n=Count("*"))
        for table in tables
    ]
    found: dict[str, int] = dict(counted[0].union(*counted[1:], all=True))
    return {table.name: found.get(table.name, 0) for table in tables}


@transaction.atomic
def _delete_rows(user: User, *, record: bool) -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [QUEUE_TIMEOUT])
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"personal_data:{user.pk}"])
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [LOCK_TIMEOUT])
        # Whoever writes for the person holds this row shared: from here on nobody does, and who comes next waits.
        cursor.execute("SELECT FROM accounts_user WHERE id = %s FOR UPDATE", [user.pk])
        cursor.execute("UPDATE accounts_user SET data_epoch = data_epoch + 1 WHERE id = %s", [user.pk])
    if record:
        record_person(user)
    forget_attempts_at(user=user)
    # Django would first read all rows and follow their relations; here every related table is in the list itself.
    return {table.name: table.rows(user)._raw_delete(DEFAULT_DB_ALIAS) for table in list_tables()}


def _clear_cache(user: User) -> bool:
    """Delete what the cache holds under the person's ID, and have the processes forget what they have read; False when
    the server cannot be asked.
    """
    key = UserRateThrottle.cache_format % {"scope": UserRateThrottle.scope, "ident": user.pk}
    try:
        mark_erasure()
        cache.delete(key)
        return cache.get(key) is None
    except RedisError:
        return False
