"""Erase everything remembered about a person, everywhere, and check that it is gone (R3); delete accounts with it."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass

import structlog
from django.core.cache import cache
from django.db import DEFAULT_DB_ALIAS, OperationalError, connection, transaction
from django.db.models import Count, TextField, Value
from django.utils.translation import gettext_noop
from psycopg import errors
from redis.exceptions import RedisError
from rest_framework.throttling import UserRateThrottle

from apps.accounts.models import User
from apps.accounts.services.ledger import ACCOUNT, record_person
from apps.accounts.services.login_lockout import forget_attempts_at
from apps.accounts.services.personal_data import list_tables
from apps.core.cache import mark_erasure
from apps.core.errors import Conflict
from apps.core.postgresql.statistics import refresh_statistics

logger = structlog.get_logger(__name__)

# How long to wait for those who are writing memories. Nothing is locked meanwhile; who comes later waits behind.
QUEUE_TIMEOUT = "10s"
# How long to wait for a lock: less than PostgreSQL waits before it looks for deadlocks (1 s). So where two wait for
# each other it is the erasure that lets go and tries again, never the request of somebody else that fails.
LOCK_TIMEOUT = "500ms"

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
    for table in list_tables():
        if table.before_erasure:
            table.before_erasure(user)
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


# Accounts, with everything in them


def is_last_superuser(user: User) -> bool:
    """Whether nobody else could do what only superusers may."""
    others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=user.pk)
    return user.is_superuser and not others.exists()


def deactivate(*, user: User, by: User) -> None:
    """Block logins and tokens of an account; its data stays. One's own and the last superuser: `Conflict`."""
    if user.pk == by.pk:
        raise Conflict(gettext_noop("You cannot deactivate or delete your own account."))
    with transaction.atomic():
        # Two superusers who deactivate each other take turns.
        list(User.objects.select_for_update().filter(is_superuser=True).order_by("pk").values_list("pk"))
        if is_last_superuser(user):
            raise Conflict(gettext_noop("The last superuser cannot be deactivated or deleted."))
        User.objects.filter(pk=user.pk).update(is_active=False)


def delete_account(*, user: User, by: User) -> Receipt:
    """Erase all that is remembered about a person (`erase_user`), then delete the account with its tokens.

    Of a service the end users go, too, each erased in the same way. The account is deactivated first, so that nothing
    new comes meanwhile; where a check finds that something remained, it is kept like that, to be tried again. One's
    own account and the last superuser: `Conflict`, and nothing happens.
    """
    deactivate(user=user, by=by)
    receipt = _delete(user, again=False)
    if receipt.verified:
        logger.warning("user.deleted", user_id=user.pk, by=by.pk)
    return receipt


def delete_account_again(*, user: User) -> Receipt:
    """Delete an account that a restored backup has brought back. The last superuser is erased, but kept."""
    return erase_user(user=user, again=True) if is_last_superuser(user) else _delete(user, again=True)


def _delete(user: User, *, again: bool) -> Receipt:
    User.objects.filter(service=user.pk).update(is_active=False)
    people = (*User.objects.filter(service=user.pk), user)
    receipts = [erase_user(user=person, again=again) for person in people]
    deleted = sum((Counter(receipt.deleted) for receipt in receipts), Counter[str]())
    verified = all(receipt.verified for receipt in receipts)
    if verified:
        with transaction.atomic():
            # Whoever still writes for the account holds its row: wait for them, so that nothing refers to it later.
            users = User.objects.select_for_update().order_by("pk")
            list(users.filter(pk=user.pk).values_list("pk"))
            list(users.filter(service=user.pk).values_list("pk"))
            if not again:
                for person in people:
                    record_person(person, kind=ACCOUNT)
            User.objects.get(pk=user.pk).delete()
    return Receipt(deleted={**receipts[-1].deleted, **deleted}, verified=verified)
