"""When a store is away or full: how that shows in exceptions, and the error that every door makes of it."""

from __future__ import annotations

import errno
from collections.abc import Iterator

import psycopg
from django.db import DatabaseError, InterfaceError, OperationalError
from redis.exceptions import ResponseError

from apps.core.errors import JiyiError, StorageFull, Unavailable

NO_SPACE = "The server has no space left to store anything. Please try again later."
NO_DATABASE = "The database cannot be reached at the moment. Please try again."

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_STRERROR = "No space left on device"  # PostgreSQL's messages are in English: lc_messages is C
# How Valkey begins its answer to every write while it cannot write its file.
_REFUSES_WRITES = "MISCONF"
# What Citus says of a statement in whose midst the tables moved to another node; asked again, it answers.
_HAS_MOVED = "could not find the intermediate result"


def describe_outage(error: BaseException | None) -> Unavailable | None:
    """Return `StorageFull` or `Unavailable` if that is what the exception means, else None."""
    if error is None or isinstance(error, JiyiError):
        return None
    if is_storage_full(error):
        return StorageFull(NO_SPACE)
    has_moved = isinstance(error, DatabaseError) and _HAS_MOVED in str(error)
    if has_moved or isinstance(error, OperationalError | InterfaceError):
        return Unavailable(NO_DATABASE)
    return None


def is_storage_full(error: BaseException) -> bool:
    """Whether a disk is full: our own (uploads, temporary files), the database's, or the broker's."""
    return any(_means_full(one) for one in list_causes(error))


def _means_full(error: BaseException) -> bool:
    if isinstance(error, psycopg.Error):
        return isinstance(error, psycopg.errors.DiskFull) or _STRERROR in str(error)
    if isinstance(error, ResponseError):
        return str(error).startswith(_REFUSES_WRITES)
    return isinstance(error, OSError) and error.errno in _FULL


def list_causes(error: BaseException, *, with_contexts: bool = False) -> Iterator[BaseException]:
    """Yield the error, what it was raised from, and the members of groups.

    `with_contexts`: also what was merely being handled meanwhile, which may have been dealt with.
    """
    waiting, seen = [error], set[int]()
    while waiting:
        found = waiting.pop()
        if id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        linked = (found.__cause__, found.__context__ if with_contexts else None)
        waiting += [one for one in linked if one is not None]
        waiting += found.exceptions if isinstance(found, BaseExceptionGroup) else ()
