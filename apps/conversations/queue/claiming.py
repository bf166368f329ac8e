"""What a run of a job has claimed, and how it writes the results: all of them once, or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.conversations.models import Work
from apps.conversations.queue.rows import claim_session_work, claim_work, fail_work, take_work
from apps.conversations.queue.types import EXTRACTED_CHARACTERS, Blame, Claim, ClaimLost, SessionClaim
from apps.core.db import release_connections

EMBEDDED_TOGETHER = 100
"""Messages in one claim of embedding, and in one request to the model (V3)."""

EXTRACTED_TOGETHER = 20
"""Messages of a session that share one extraction call, at most; see `EXTRACTED_CHARACTERS`."""

SUMMARIZED_TOGETHER = 1000
"""A summary reads what the session needs by itself: one run answers for all the work that is due on it."""


def claim_batch(token: str, worker: str = "") -> Claim | None:
    """Claim messages to embed, from any users, for a run in the worker of that name; None when none are due."""
    work = claim_work(
        kind=Work.Kind.EMBED,
        token=token,
        worker=worker,
        now=timezone.now(),
        lease=_get_lease(),
        limit=EMBEDDED_TOGETHER,
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
    work = claim_session_work(
        kind=kind,
        token=token,
        worker=worker,
        now=timezone.now(),
        lease=_get_lease(),
        limit=limit,
        max_characters=max_characters,
    )
    return SessionClaim(token=token, work=tuple(work), user=User.objects.get(id=work[0].user_id)) if work else None


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
    with transaction.atomic():
        if not take_work(work=claim.work, token=claim.token):
            raise ClaimLost
        yield


def put_off(claim: Claim, *, error: str, blame: Blame) -> None:
    """Leave the claimed work for later, or as failed after too many times. `error`: a name, never text (R3)."""
    fail_work(work=claim.work, token=claim.token, error=error, blame=blame, now=timezone.now())
