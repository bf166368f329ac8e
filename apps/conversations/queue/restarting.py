"""A worker that comes back after it was killed frees at once what it held, instead of waiting for the lease."""

from __future__ import annotations

import structlog
from celery import current_app

from apps.conversations.queue.rows import has_claims, release_claims_of
from apps.core.db import disconnect

logger = structlog.get_logger(__name__)

ANSWER_SECONDS = 1.0
"""How long another worker of the same name has to say that it lives; it is asked only when the name holds claims."""


def take_up_name(worker: str) -> None:
    """Free what an earlier process of the worker of this name had claimed.

    To be called as the worker gets ready, from the thread that would answer others and before any of its own runs
    claims. Celery does not refuse a second worker of a name. So it asks first: as long as another one answers, nothing
    is freed. Neither is anything when the database or the broker is away; the lease then runs out as ever. One that
    does not answer although it lives, as it is just being stopped, costs double work and no more: it finds its claims
    gone and writes nothing, or has written already.
    """
    try:
        if not has_claims(worker=worker):
            return
        if current_app.control.ping(destination=[worker], timeout=ANSWER_SECONDS, limit=1):
            logger.warning("worker_name_taken", worker=worker)
            return
        logger.info("former_claims_released", worker=worker, count=release_claims_of(worker=worker))
    except Exception as error:  # whatever it is, the worker starts, and logs hold no text (R3)
        logger.warning("former_claims_not_released", worker=worker, cause=type(error).__name__)
    finally:
        disconnect()  # or the processes that the worker forks later would share it
