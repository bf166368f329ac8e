"""Logs hold IDs, never text (R3): what PostgreSQL quotes of values is taken out of what is logged of its errors."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterator

import pytest
import structlog
from django.db import DataError, IntegrityError, connection, transaction

from apps.accounts.models import Setting
from apps.core.logs import make_logging
from tests.support.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.spec("R3")]

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


def test_other_errors_are_logged_whole(lines: io.StringIO) -> None:
    try:
        raise ValueError("not a number\nat all")
    except ValueError:
        logging.getLogger("tests.logs").exception("It failed.")
    assert "ValueError: not a number\nat all" in lines.getvalue()
