"""What a worker does with the queue: claim work of one kind, do it, write all results once or nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from typing import TypeVar

import structlog
from celery import current_app
from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, transaction
from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from apps.conversations.models import Session, Work
from apps.conversations.queue import (
    EXTRACTED_CHARACTERS,
    Blame,
    Claim,
    ClaimLost,
    SessionClaim,
    claim_session_work,
    claim_work,
    count_backlog,
    fail_work,
    has_claims,
    release_claims,
    release_claims_of,
    return_claims,
    take_work,
    wake_workers,
)
from apps.core.db import disconnect, release_connections
from apps.core.errors import JiyiError, ModelUnavailable
from apps.core.llm.client import get_embedder_name, is_local
from apps.core.llm.metering import collect_calls, get_calls
from apps.core.outages import is_storage_full
from apps.core.tracing import Span, get_traceparent, span
from apps.costs.budgets import list_paused
from apps.costs.ledger import record_calls, record_rest

# Messages in one claim of embedding, and in one request to the model (V3).
EMBEDDED_TOGETHER = 100
# Messages of a session that share one extraction call, at most; see `EXTRACTED_CHARACTERS`.
EXTRACTED_TOGETHER = 20
# A summary reads what the session needs by itself: one run answers for all the work that is due on it.
SUMMARIZED_TOGETHER = 1000


def claim_batch(token: str, worker: str = "") -> Claim | None:
    """Claim messages to embed, from any users, for a run in the worker of that name; None when none are due."""
    paused = list_paused(now=timezone.now())
    if paused != [] and is_local(get_embedder_name()):
        paused = []  # what is embedded in this process costs nothing
    if paused is None:
        return None
    work = claim_work(
        kind=Work.Kind.EMBED,
        token=token,
        worker=worker,
        now=timezone.now(),
        lease=_get_lease(),
        limit=EMBEDDED_TOGETHER,
        paused=paused,
    )
    return Claim(token=token, work=tuple(work)) if work else None


def claim_rounds(token: str, worker: str = "") -> SessionClaim | None:
    """Claim rounds of one session to extract memories from; None when none are due."""
    return _claim_session(
        Work.Kind.EXTRACT, token, worker, limit=EXTRACTED_TOGETHER, max_characters=EXTRACTED_CHARACTERS
    )


def claim_session(token: str, worker: str = "") -> SessionClaim | None:
    """Claim a session to summarise, with all the work that is due on it; None when none is due."""
    return _claim_session(Work.Kind.SUMMARIZE, token, worker, limit=SUMMARIZED_TOGETHER, max_characters=None)


def _claim_session(
    kind: str, token: str, worker: str, *, limit: int, max_characters: int | None
) -> SessionClaim | None:
    paused = list_paused(now=timezone.now())
    if paused is None:
        return None
    work = claim_session_work(
        kind=kind,
        token=token,
        worker=worker,
        now=timezone.now(),
        lease=_get_lease(),
        limit=limit,
        max_characters=max_characters,
        paused=paused,
    )
    if not work:
        return None
    # What is learned and summarised sees and writes what a turn of this conversation does (P3).
    session = Session.objects.select_related("space", "user").get(id=work[0].session_id)
    seen = session.learns_in if kind == Work.Kind.EXTRACT else session.space_id
    return SessionClaim(token=token, work=tuple(work), user=session.user.within(seen))


def _get_lease() -> timedelta:
    return timedelta(seconds=settings.WORK_LEASE_SECONDS)


@contextmanager
def finish(claim: Claim) -> Iterator[None]:
    """Run the block in the transaction that takes the claimed work off the queue: write the result there.

    The owners' accounts and the sessions are locked against erasure and deletion until it commits, and nothing of an
    older `data_epoch` is written (R3). Raises `ClaimLost` before the block when any of the work is not ours any more;
    an error in the block undoes it all, and the work is still to be done.
    """
    release_connections()  # the one held before a model call may have died meanwhile; the pool gives a living one
    calls = get_calls()
    with transaction.atomic():
        if not take_work(work=claim.work, token=claim.token):
            raise ClaimLost
        yield
        record_calls(calls, owners=claim.owners)
    if claim.work:
        calls.clear()


def put_off(claim: Claim, *, error: str, blame: Blame) -> None:
    """Leave the claimed work for later, or as failed after too many times. `error`: a name, never text (R3)."""
    fail_work(work=claim.work, token=claim.token, error=error, blame=blame, now=timezone.now())


logger = structlog.get_logger(__name__)
# The share of a lease after which a task makes room for others and is sent again.
DRAIN_SHARE = 0.1
# The same where the work was recorded: the workers may all be at that while a turn leaves work of another kind.
RECORDED_SECONDS = 1.0
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
    with _trace(claim, kind=kind) as current, collect_calls() as calls:
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
        finally:
            record_rest(calls, owners=claim.owners)
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


_AWAY = frozenset({"unreachable", "rate_limited", "no_model"})
_UNSURE = frozenset({"timeout", "dropped", "server_error"})
# Statuses with which a server refuses every request: a wrong key, an unpaid bill, a wrong address or model.
_LOCKED_OUT = frozenset({401, 402, 403, 404})


DATABASE_ERRORS = (OperationalError, InterfaceError)
# SQLSTATEs, or their beginnings, of a database that is not there, is a standby, is full, or has chosen another in a
# deadlock.
_DATABASE_AWAY = ("08", "25006", "40", "53", "57P", "55P03")


def is_database_away(error: Exception) -> bool:
    """Whether a store is away or full, so that no work is to blame and the whole task is to be tried again.

    Not so where it was asked too much, such as a statement that was cancelled or is too complex.
    """
    if is_storage_full(error):
        return True
    if not isinstance(error, DATABASE_ERRORS):
        return False
    state = getattr(error.__cause__, "sqlstate", None)
    return state is None or state.startswith(_DATABASE_AWAY)


def get_blame(error: Exception) -> Blame:
    """Return whether the server is away for everybody, may have choked on this work, or this work cannot be done."""
    if not isinstance(error, ModelUnavailable):
        return Blame.WORK
    reason = error.fields.get("reason")
    if reason in _AWAY or error.fields.get("status") in _LOCKED_OUT:
        return Blame.SERVER
    return Blame.UNSURE if reason in _UNSURE else Blame.WORK


def name_error(error: Exception) -> str:
    """Return a name for the log and the queue, such as ``model_unavailable: refused 400`` or ``ValueError``."""
    if not isinstance(error, JiyiError):
        return type(error).__name__
    details = [str(error.fields[name]) for name in ("reason", "status") if name in error.fields]
    return ": ".join([error.code, " ".join(details)]) if details else error.code


# How long another worker of the same name has to say that it lives; it is asked only when the name holds claims.
ANSWER_SECONDS = 1.0


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


class BacklogCollector(Collector):
    """``jiyi_work`` by kind and state, and ``jiyi_work_oldest_seconds`` by kind."""

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """Name the gauges, for the registry; asks no database."""
        yield GaugeMetricFamily("jiyi_work", "Background work that is left", labels=["kind", "state"])
        yield GaugeMetricFamily("jiyi_work_oldest_seconds", "Age of the oldest that has not failed", labels=["kind"])

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Count; without a database the gauges are missing, and the other metrics are reported all the same."""
        try:
            backlog = count_backlog()
        except DatabaseError as error:
            logger.warning("backlog_not_counted", cause=type(error).__name__)
            return
        left, oldest = self.describe()
        for kind, counts in backlog.items():
            for state in ("due", "claimed", "failed"):
                left.add_metric([kind, state], counts[state])
            oldest.add_metric([kind], counts["oldest_seconds"])
        yield left
        yield oldest
