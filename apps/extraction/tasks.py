"""The tasks that workers run, and what each does. None has arguments: each asks PostgreSQL what is due.

A job writes inside `finish`, or not at all (see `apps.conversations.worker`).
"""

from __future__ import annotations

from typing import Any

from celery import Task, shared_task
from django.conf import settings
from django.utils import timezone

from apps.conversations.models import Message, Work
from apps.conversations.queue import Blame, Claim, SessionClaim, fail_lost_work, list_due_kinds, wake_workers
from apps.conversations.worker import DATABASE_ERRORS, claim_batch, claim_rounds, claim_session, drain, finish, put_off
from apps.extraction.run import extract as extract_memories
from apps.memory.vectors.messages import prepare_embeddings, store_embeddings
from apps.summaries.services import prepare_summaries, store_summaries


def embed_messages(claim: Claim) -> None:
    """Store the vectors of the claimed messages (V1). One that the model refuses fails alone (V3)."""
    prepared = prepare_embeddings(Message.objects.filter(id__in=claim.message_ids))
    with finish(claim.only(set(claim.message_ids) - prepared.failures.keys())):
        store_embeddings(prepared)
    for message_id, error in prepared.failures.items():
        put_off(claim.only({message_id}), error=error, blame=Blame.WORK)


def summarize_session(claim: SessionClaim) -> None:
    """Write the summaries that are due on the claimed session: its own (S1), the conversation's (S3), both or none."""
    prepared = prepare_summaries(user=claim.user, session_id=claim.session_id)
    with finish(claim):
        store_summaries(user=claim.user, prepared=prepared, now=timezone.now())


_JOB: dict[str, Any] = {
    "bind": True,
    "soft_time_limit": settings.WORK_LEASE_SECONDS,  # past it, others may have claimed the same
    "time_limit": settings.WORK_LEASE_SECONDS + 30,
    "autoretry_for": DATABASE_ERRORS,
    "default_retry_delay": 2,
    "max_retries": None,
}


def _drain(task: Task[Any, Any], *, kind: Work.Kind, claim: Any, job: Any) -> None:
    """Do what is due in this run; a task that is delivered again because its process was killed has the same token.

    It resumes where it was ended by the database, and not by the death of its process.
    """
    request = task.request
    redelivered = (request.delivery_info or {}).get("redelivered")
    resumes = bool(request.retries) and not redelivered
    drain(kind=kind, claim=claim, job=job, token=str(request.id), worker=request.hostname or "", resumes=resumes)


@shared_task(**_JOB)
def embed(self: Task[Any, Any]) -> None:
    """Embed messages from any users in batches."""
    _drain(self, kind=Work.Kind.EMBED, claim=claim_batch, job=embed_messages)


@shared_task(**_JOB)
def extract(self: Task[Any, Any]) -> None:
    """Turn rounds into memories, session by session."""
    _drain(self, kind=Work.Kind.EXTRACT, claim=claim_rounds, job=extract_memories)


@shared_task(**_JOB)
def summarize(self: Task[Any, Any]) -> None:
    """Write summaries, session by session."""
    _drain(self, kind=Work.Kind.SUMMARIZE, claim=claim_session, job=summarize_session)


@shared_task
def sweep() -> None:
    """Wake the workers for what is due: a broker that lost its queue or a worker that died leaves nothing behind."""
    now = timezone.now()
    fail_lost_work(now=now)
    wake_workers(list_due_kinds(now=now))
