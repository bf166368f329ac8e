"""Claim and do work of one kind until nothing is due: what every task of the pipeline does."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

import structlog
from django.conf import settings

from apps.conversations.queue.blame import get_blame, is_database_away, name_error
from apps.conversations.queue.claiming import put_off
from apps.conversations.queue.rows import release_claims, return_claims
from apps.conversations.queue.sending import wake_workers
from apps.conversations.queue.types import Blame, Claim, ClaimLost
from apps.core.tracing import Span, get_traceparent, span

logger = structlog.get_logger(__name__)

DRAIN_SHARE = 0.1
"""Of a lease's time: after it a task makes room for others and is sent again."""

RECORDED_SECONDS = 1.0
"""The same where the work was recorded: the workers may all be at that while a turn leaves work of another kind."""

_MOST_LINKS = 32

C = TypeVar("C", bound=Claim)


def drain(
    *,
    kind: str,
    token: str,
    worker: str = "",
    claim: Callable[[str, str], C | None],
    job: Callable[[C], None],
    resumes: bool = False,
) -> None:
    """Do what is due of this kind, claim by claim, for `DRAIN_SHARE` of a lease; wake another worker for the rest.

    With recorded work a run ends after `RECORDED_SECONDS`, so that a turn's work waits for one piece of it at most.

    `token` names the run, `worker` the worker that it is in. A run whose process was killed comes back under the same
    name: what it had claimed is free again at once, after one more attempt of its own. `resumes`: it comes back because
    the database was away, which is no fault of the work. `claim` claims the next piece for both, None when none is due.
    """
    if resumes:
        return_claims(token=token)
    else:
        release_claims(token=token)
    start = time.monotonic()
    while (claimed := claim(token, worker)) is not None:
        if not _do(job, claimed, kind=kind):
            return  # the sweep tries again in a while
        longest = RECORDED_SECONDS if claimed.recorded else settings.WORK_LEASE_SECONDS * DRAIN_SHARE
        if time.monotonic() > start + longest:
            wake_workers([kind])
            return


def _do(job: Callable[[C], None], claim: C, *, kind: str) -> bool:
    """Do one piece; False when there is no sense in claiming more now, because the server is away."""
    with _trace(claim, kind=kind) as current:
        try:
            job(claim)
        except ClaimLost:
            return_claims(token=claim.token)
        except Exception as error:  # whatever a job trips over, the queue continues
            if is_database_away(error):
                raise
            name, blame = name_error(error), get_blame(error)
            current.fail(name)
            messages = [str(message_id) for message_id in claim.message_ids]
            logger.warning("work_failed", kind=kind, error=name, blame=str(blame), messages=messages)
            put_off(claim, error=name, blame=blame)
            return blame is not Blame.SERVER
    return True


def _trace(claim: Claim, *, kind: str) -> AbstractContextManager[Span]:
    """Return the job's span: in the trace of the turn that left the first of its work, with links to the others."""
    traces = list(dict.fromkeys(item.trace for item in claim.work if item.trace))
    return span(
        f"job {kind}",
        kind="consumer",
        parent=traces[0] if traces else None,
        links=[*traces[1:_MOST_LINKS], get_traceparent()] if traces else (),
        jiyi__work__kind=kind,
        jiyi__work__count=len(claim.work),
    )
