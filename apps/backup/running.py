"""Whether anything still uses an installation that is about to be replaced."""

from __future__ import annotations

from celery import current_app
from django.core.cache import cache
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from apps.backup.database import Database, list_sessions
from apps.backup.types import BackupError

_ANSWER_SECONDS = 1.0


def check_nobody_uses(database: Database) -> None:
    """Raise `BackupError` while a worker answers or anybody is connected to the database."""
    workers = _list_workers()
    if workers:
        raise BackupError(f"Workers are running: {', '.join(workers)}. Stop them, and web and beat, first.")
    with database.connect_beside() as connection:
        sessions = list_sessions(connection, database.name)
    if sessions:
        raise BackupError(
            f"The database {database.name} is in use ({len(sessions)} connections: "
            f"{', '.join(sorted(set(sessions)))}). Stop everything that uses it first."
        )


def empty_queues() -> None:
    """Remove the messages that wake workers: they are about another database. What is to be done stands in this one."""
    current_app.control.purge()


def _list_workers() -> list[str]:
    try:
        cache.get("restore")  # a server that is away is told at once
        answers = current_app.control.ping(timeout=_ANSWER_SECONDS) or []
    except (RedisError, OperationalError, OSError) as error:
        raise BackupError("The queue server (REDIS_URL) cannot be reached. It is needed for a restore, too.") from error
    return sorted(name for answer in answers for name in answer)
