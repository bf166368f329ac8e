"""How a store that is away or full shows, in whatever a library makes of it."""

from __future__ import annotations

import errno

import psycopg
import pytest
from django.db import InternalError, OperationalError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError

from apps.core.errors import JiyiError, ModelUnavailable, StorageFull, Unavailable
from apps.core.outages import describe_outage


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


FULL = [
    caused(OperationalError("could not extend file"), psycopg.errors.DiskFull("could not extend file")),
    caused(InternalError("x"), psycopg.errors.IoError("could not write block 1: No space left on device")),
    OSError(errno.ENOSPC, "No space left on device"),
    OSError(errno.EDQUOT, "Disk quota exceeded"),
    ResponseError("MISCONF Errors writing to the AOF file: No space left on device"),
    ExceptionGroup("two", [ValueError("x"), OSError(errno.ENOSPC, "No space left on device")]),
    caused(RuntimeError("upload failed"), OSError(errno.ENOSPC, "No space left on device")),
]


@pytest.mark.parametrize("error", FULL, ids=str)
def test_a_full_disk(error: Exception) -> None:
    assert type(describe_outage(error)) is StorageFull


@pytest.mark.parametrize("cause", [psycopg.OperationalError("server closed the connection"), None])
def test_a_database_that_is_away(cause: Exception | None) -> None:
    error = OperationalError("gone")
    error.__cause__ = cause
    assert type(describe_outage(error)) is Unavailable


@pytest.mark.parametrize(
    "error",
    [
        None,
        ValueError("x"),
        OSError(errno.ENOENT, "No such file"),
        RedisConnectionError("refused"),
        ResponseError("WRONGTYPE"),
        caused(ModelUnavailable("the model's server is full"), OSError(errno.ENOSPC, "x")),
        JiyiError("x"),
    ],
    ids=repr,
)
def test_neither(error: Exception | None) -> None:
    assert describe_outage(error) is None


def test_what_was_dealt_with_before_is_not_the_cause() -> None:
    error = ValueError("another mistake")
    error.__context__ = OSError(errno.ENOSPC, "No space left on device")
    assert describe_outage(error) is None
