"""Logs without values (R3), and how it shows that a store is away or full."""

from __future__ import annotations

import errno
import io
import logging
from collections.abc import Callable, Iterator

import psycopg
import pytest
import structlog
from django.db import DataError, IntegrityError, InternalError, OperationalError, connection, transaction
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError

from apps.accounts.models import Setting
from apps.core.errors import JiyiError, ModelUnavailable, StorageFull, Unavailable
from apps.core.logs import make_logging
from apps.core.outages import describe_outage
from tests.support.factories import UserFactory

SECRET = "紫罗兰\nviolet"


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """What the handler of the product's configuration writes."""
    output = io.StringIO()
    handler = logging.StreamHandler(output)
    configuration = make_logging(level="INFO", as_json=False)["formatters"]["line"]
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=configuration["processors"], foreign_pre_chain=configuration["foreign_pre_chain"]
        )
    )
    logger = logging.getLogger("tests.logs")
    logger.addHandler(handler)
    yield output
    logger.removeHandler(handler)


def collide() -> None:
    user = UserFactory()
    for _ in range(2):
        Setting.objects.create(user=user, key=SECRET, value=1)


def misread() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::uuid", [SECRET])


def fail_in_turn() -> None:
    try:
        collide()
    except IntegrityError as error:
        raise RuntimeError("Something else.") from error


def log_by_structlog(error: Exception) -> None:
    structlog.get_logger("tests.logs").error("it_failed", exc_info=error)


def log_by_logging(error: Exception) -> None:
    logging.getLogger("tests.logs").error("It failed: %r %s", error, error, exc_info=error)


@pytest.mark.django_db
@pytest.mark.spec("R3")
@pytest.mark.parametrize("log", [log_by_structlog, log_by_logging])
@pytest.mark.parametrize(
    ("fail", "expected", "told"),
    [
        (collide, IntegrityError, 'violates unique constraint "setting_unique_per_user"'),
        (misread, DataError, "SQLSTATE 22P02"),
        (fail_in_turn, RuntimeError, 'violates unique constraint "setting_unique_per_user"'),
    ],
)
def test_errors_of_the_database_are_logged_without_values(
    lines: io.StringIO, log: Callable[[Exception], None], fail: Callable[[], None], expected: type[Exception], told: str
) -> None:
    with pytest.raises(expected) as caught, transaction.atomic():
        fail()
    log(caught.value)
    written = lines.getvalue()
    assert told in written
    assert "Traceback" in written
    assert [word for word in SECRET.split() if word in written] == []
    assert "DETAIL" not in written


@pytest.mark.django_db
@pytest.mark.spec("R3")
def test_other_errors_are_logged_whole(lines: io.StringIO) -> None:
    try:
        raise ValueError("not a number\nat all")
    except ValueError:
        logging.getLogger("tests.logs").exception("It failed.")
    assert "ValueError: not a number\nat all" in lines.getvalue()


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
