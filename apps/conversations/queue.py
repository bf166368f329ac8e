"""The queue of background work, in PostgreSQL: what is still to be done for messages after the reply (see `Work`).

A run claims rows (`claim_work`, `claim_session_work`), computes without a transaction, and writes its result in the
transaction in which `take_work` deletes the rows: whoever does not find all of them any more writes nothing. A run that
came to nothing puts its rows off (`fail_work`) or gives them back (`return_claims`); those of a run that died are free
again when it or its worker comes back under the same name (`release_claims`), or when their lease has run out.

Who comes first: what was said in a turn, the longest due first; then what was recorded, by its place in the queue
(start-time fair queueing, Goyal et al. 1996: a person's next row is numbered after their last one, but never before
where the queue is now). So an import holds up no turn, and the imports of several people take turns, row by row.

Workers are woken by a task by name and without arguments, from a thread of its own: the broker may be slow or gone. A
call that gets lost costs time only, as a periodic sweep looks here.
"""

from __future__ import annotations

import os
import queue
import random
import threading
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache, partial
from typing import Any, Self

import structlog
from celery import current_app
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Count, F, Min, Q, QuerySet
from django.utils import timezone

from apps.accounts.models import User
from apps.conversations.models import Message, Work
from apps.conversations.pausing import WORK_WHILE_PAUSED
from apps.core.tracing import get_traceparent
from apps.costs.ledger import Owner


@dataclass(frozen=True, slots=True)
class ClaimedWork:
    """A claimed row. `data_epoch` is its owner's at that time: work on what was erased meanwhile is not taken (R3).

    `trace`: the span that left it, "" where nothing is traced. `characters`: of its message.
    """

    id: int
    user_id: int
    data_epoch: int
    session_id: uuid.UUID
    message_id: uuid.UUID
    recorded: bool
    trace: str = ""
    characters: int = field(default=0, compare=False)


# Messages of a session that share one extraction call, at most, and their characters: a prompt has to hold them.
EXTRACTED_CHARACTERS = 12_000


class Blame(StrEnum):
    """Whose fault it is that work came to nothing: it decides how long it is tried again."""

    SERVER = "server"  # the model server is away or refuses everybody: no attempt of the work's
    UNSURE = "unsure"  # it may be this work that it chokes on: from now on alone, and patiently
    WORK = "work"  # the same again is likely: a few attempts


class ClaimLost(Exception):
    """Some of the work is not this run's any more: deleted, erased, or claimed by another after the lease ran out."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Work of one kind that the run `token` has claimed, in the order in which it was left; never empty."""

    token: str
    work: tuple[ClaimedWork, ...]

    @property
    def message_ids(self) -> list[uuid.UUID]:
        """The messages it is about."""
        return [item.message_id for item in self.work]

    @property
    def owners(self) -> dict[Owner, int]:
        """Whose work it is, as the ledger of calls has them, with the characters of their messages."""
        owners: Counter[Owner] = Counter()
        for item in self.work:
            owners[item.user_id, item.data_epoch] += item.characters
        return owners

    @property
    def recorded(self) -> bool:
        """Whether any of it was recorded without a turn."""
        return any(item.recorded for item in self.work)

    def only(self, message_ids: Collection[uuid.UUID]) -> Self:
        """Return the part of the claim that is about these messages."""
        return replace(self, work=tuple(item for item in self.work if item.message_id in message_ids))


@dataclass(frozen=True, slots=True)
class SessionClaim(Claim):
    """Work on messages of one session, which is `user`'s."""

    user: User

    @property
    def session_id(self) -> uuid.UUID:
        return self.work[0].session_id


logger = structlog.get_logger(__name__)

# The task for each kind of work (`Work.Kind`). A task is sent without arguments: it asks PostgreSQL what is due.
TASKS = {
    "embed": "apps.extraction.tasks.embed",
    "extract": "apps.extraction.tasks.extract",
    "summarize": "apps.extraction.tasks.summarize",
}


class _Sender:
    """Sends names of tasks from a daemon thread; a name that already waits to be sent is not sent twice."""

    def __init__(self) -> None:
        self._names: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._waiting: set[str] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._run, name="task-sender", daemon=True).start()

    def send(self, name: str) -> None:
        with self._lock:
            if name in self._waiting:
                return
            self._waiting.add(name)
        self._names.put(name)

    def _run(self) -> None:
        while True:
            name = self._names.get()
            with self._lock:
                self._waiting.discard(name)
            try:
                current_app.send_task(name, retry=False, ignore_result=True)
            except Exception as error:  # whatever the broker does, later calls must get their chance
                logger.warning("task_not_sent", task=name, cause=type(error).__name__)


@lru_cache(maxsize=1)
def _get_sender() -> _Sender:
    return _Sender()


os.register_at_fork(after_in_child=_get_sender.cache_clear)
"""A forked process has no threads: without one of its own it would send nothing."""


def send_task(name: str) -> None:
    """Send the task to its queue soon; returns at once and never fails."""
    _get_sender().send(name)


def wake_workers(kinds: Collection[str]) -> None:
    """Tell the workers, once the transaction commits, that work of these kinds is due; a lost call costs only time."""
    for kind in kinds:
        transaction.on_commit(partial(send_task, TASKS[kind]))


# Work that came to nothing so often is claimed alone: what is wrong with it hurts nothing else any more.
ALONE_FROM_ATTEMPTS = 2
# After so many attempts of its own fault work has failed.
MAX_ATTEMPTS = 5
# After so many, whoever is to blame: about three days of a model server that is away.
MAX_POSTPONEMENTS = 80
LONGEST_PAUSE = timedelta(hours=1)
# The error of work whose workers were killed each time.
WORKER_LOST = "worker_lost"
_CLAIMABLE = (
    "state = 'due' AND due_at <= %(now)s AND (lease_until IS NULL OR lease_until < %(now)s)"
    " AND user_id <> ALL(%(paused)s::bigint[])"
)
# Not by the index of what is due, which PostgreSQL would take while its statistics are older than an import.
_CLAIMABLE_IN_SESSION = _CLAIMABLE.replace("state = 'due'", "state <> 'failed'")
_ORDER = "place, due_at, id"

# Rows without a place (0) are of turns that no model of ours has read (T3): before what was imported.
FIND_PLACE = """
SELECT GREATEST(
    (SELECT max(place) FROM work WHERE user_id = %(user)s AND kind = %(kind)s),
    (SELECT place FROM work
     WHERE kind = %(kind)s AND state = 'due' AND place > 0 AND due_at <= %(now)s ORDER BY place LIMIT 1),
    0
)
"""

CLAIM = f"""
WITH found AS MATERIALIZED (
    SELECT id, attempts, place, due_at FROM work
    WHERE kind = %(kind)s AND {_CLAIMABLE}
    ORDER BY {_ORDER}
    LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
), first AS (
    SELECT id, attempts FROM found ORDER BY {_ORDER} LIMIT 1
), chosen AS (
    SELECT found.id FROM found, first
    WHERE found.id = first.id OR GREATEST(found.attempts, first.attempts) < %(alone_from)s
)
"""  # noqa: S608 - no value is put into it

# The lock comes first, in a statement of its own, so that this one sees what the last claim of the kind did.
LOCK_CLAIMS = "SELECT pg_advisory_xact_lock(hashtextextended('claim_work:' || %(kind)s, 0))"

CLAIM_SESSION = f"""
WITH held AS MATERIALIZED (
    SELECT session_id FROM work WHERE kind = %(kind)s AND lease_until >= %(now)s
), first AS MATERIALIZED (
    SELECT id, session_id, recorded, attempts FROM work
    WHERE kind = %(kind)s AND {_CLAIMABLE} AND session_id NOT IN (SELECT session_id FROM held)
    ORDER BY {_ORDER}
    LIMIT 1
), found AS MATERIALIZED (
    SELECT work.id, (SELECT length(content) FROM conversation WHERE id = message_id) AS characters
    FROM work, first
    WHERE work.session_id = (SELECT session_id FROM first) AND kind = %(kind)s AND work.recorded = first.recorded
      AND {_CLAIMABLE_IN_SESSION} AND (work.id = first.id OR GREATEST(work.attempts, first.attempts) < %(alone_from)s)
    ORDER BY work.id
    LIMIT %(limit)s
    FOR UPDATE OF work SKIP LOCKED
), counted AS (
    SELECT id, sum(characters) OVER earlier AS characters, row_number() OVER earlier AS number
    FROM found
    WINDOW earlier AS (ORDER BY id)
), chosen AS (
    SELECT id FROM counted WHERE number = 1 OR COALESCE(characters <= %(characters)s, TRUE)
)
"""  # noqa: S608

MARK_CLAIMED = """
UPDATE work SET claim = %(token)s, worker = %(worker)s, lease_until = %(lease_until)s, attempts = attempts + 1
FROM chosen, accounts_user AS owner
WHERE work.id = chosen.id AND owner.id = work.user_id
RETURNING work.id, work.user_id, owner.data_epoch, work.session_id, work.message_id, work.recorded,
          work.trace, COALESCE((SELECT length(content) FROM conversation WHERE id = work.message_id), 0)
"""

# Locked in the order in which deletion locks (an account, then its sessions), so that neither waits for the other in a
# circle.
LOCK_OWNERS = """
SELECT id FROM accounts_user JOIN unnest(%(users)s::bigint[], %(epochs)s::bigint[]) AS claimed(id, data_epoch)
       USING (id, data_epoch)
ORDER BY id FOR KEY SHARE OF accounts_user
"""
LOCK_SESSIONS = "SELECT id FROM chat_session WHERE id = ANY(%(sessions)s) ORDER BY id FOR KEY SHARE"
TAKE = "DELETE FROM work WHERE id = ANY(%(ids)s) AND claim = %(token)s AND user_id = ANY(%(users)s)"

# The time is computed in seconds: added to a timestamp, they depend on the session's time zone as far as PostgreSQL
# knows, and Citus computes only what is immutable from columns.
PUT_OFF = """
UPDATE work
SET claim = NULL, lease_until = NULL, error = %(error)s, postponements = postponements + 1,
    attempts = CASE %(blame)s WHEN 'server' THEN attempts - 1
                              WHEN 'unsure' THEN LEAST(attempts, %(alone_from)s)
                              ELSE attempts END,
    state = CASE WHEN postponements + 1 >= %(max_postponements)s OR %(blame)s = 'work' AND attempts >= %(max_attempts)s
                 THEN 'failed' ELSE 'due' END,
    due_at = to_timestamp(
        %(now)s + LEAST(%(first_pause)s * power(2, LEAST(postponements, 30)), %(longest_pause)s) * %(jitter)s
    )
WHERE id = ANY(%(ids)s) AND claim = %(token)s
"""


def add_work(*, messages: Iterable[Message], kinds: Collection[str], now: datetime, recorded: bool = False) -> None:
    """Leave work of these kinds for each message, in the caller's transaction; workers are woken when it commits.

    What was said while remembering was paused leaves none that anything is learned by (D5).
    `recorded`: nobody waits for it, so that it comes after the work of turns, and takes turns with other people's.
    """
    trace = get_traceparent()
    rows = [
        Work(
            kind=kind,
            trace=trace,
            user_id=message.user_id,
            session_id=message.session_id,
            message=message,
            recorded=recorded,
            due_at=now,
            created_at=now,
        )
        for message in messages
        for kind in kinds
        if not message.paused_by or kind in WORK_WHILE_PAUSED
    ]
    if recorded:
        _give_places(rows, now=now)
    Work.objects.bulk_create(rows, ignore_conflicts=True)
    wake_workers(kinds)


def _give_places(rows: Iterable[Work], *, now: datetime) -> None:
    last: dict[tuple[int, str], int] = {}
    with connection.cursor() as cursor:
        for row in rows:
            owner = row.user_id, str(row.kind)
            if owner not in last:
                cursor.execute(FIND_PLACE, {"user": row.user_id, "kind": row.kind, "now": now})
                last[owner] = cursor.fetchone()[0]
            last[owner] += 1
            row.place = last[owner]


def release_work(*, user: User, kind: str, now: datetime) -> None:
    """Take work of a kind from the runs that hold it: what they read of this person has changed, so it starts again."""
    held = Work.objects.filter(user=user, kind=kind, claim__isnull=False)
    if held.update(claim=None, lease_until=None, due_at=now, attempts=F("attempts") - 1):
        wake_workers([kind])


def claim_work(
    *,
    kind: str,
    token: str,
    worker: str = "",
    now: datetime,
    lease: timedelta,
    limit: int,
    paused: Collection[int] = (),
) -> list[ClaimedWork]:
    """Claim up to `limit` due rows of one kind, from any users, for the run that `token` names, in their order.

    `worker` is the name of the worker that the run is in. A row that came to nothing before (`ALONE_FROM_ATTEMPTS`) is
    claimed alone. Work of those whose IDs are `paused` stays where it is.
    """
    values = {"kind": kind, "token": token, "worker": worker, "limit": limit, "paused": list(paused)}
    return _claim(CLAIM, now=now, lease=lease, **values)


@transaction.atomic
def claim_session_work(
    *,
    kind: str,
    token: str,
    worker: str = "",
    now: datetime,
    lease: timedelta,
    limit: int,
    max_characters: int | None,
    paused: Collection[int] = (),
) -> list[ClaimedWork]:
    """Claim the due rows of one session, in the order in which they were left, for the run that `token` names.

    `worker` is the name of the worker that the run is in. The session is that of the row that comes first, of those of
    which no run holds a row of this kind; what was said in turns is not claimed together with what was recorded. At
    most `limit` rows, whose messages have at most `max_characters` together unless one alone has more. A row that came
    to nothing before is claimed alone. Work of those whose IDs are `paused` stays where it is.
    """
    with connection.cursor() as cursor:
        cursor.execute(LOCK_CLAIMS, {"kind": kind})
    values = {"kind": kind, "token": token, "worker": worker, "limit": limit, "characters": max_characters}
    values["paused"] = list(paused)
    return _claim(CLAIM_SESSION, now=now, lease=lease, **values)


def _claim(choose: str, *, now: datetime, lease: timedelta, **values: Any) -> list[ClaimedWork]:
    parameters = {**values, "now": now, "lease_until": now + lease, "alone_from": ALONE_FROM_ATTEMPTS}
    with connection.cursor() as cursor:
        cursor.execute(choose + MARK_CLAIMED, parameters)
        return sorted((ClaimedWork(*row) for row in cursor.fetchall()), key=lambda work: work.id)


def take_work(*, work: Sequence[ClaimedWork], token: str) -> bool:
    """Delete these rows in the transaction that writes their result; False if any of them is not the run's any more.

    The caller then rolls back. Their owners and sessions stay locked against erasure and deletion until the end of
    the transaction.
    """
    epochs = {item.user_id: item.data_epoch for item in work}
    with connection.cursor() as cursor:
        cursor.execute(LOCK_OWNERS, {"users": list(epochs), "epochs": list(epochs.values())})
        users = [user for (user,) in cursor.fetchall()]
        cursor.execute(LOCK_SESSIONS, {"sessions": list({item.session_id for item in work})})
        cursor.execute(TAKE, {"ids": [item.id for item in work], "token": token, "users": users})
        return cursor.rowcount == len(work)


def fail_work(*, work: Iterable[ClaimedWork], token: str, error: str, blame: Blame, now: datetime) -> None:
    """Put claimed rows off, each time twice as long, or mark them failed after too many times (see `Blame`).

    `error`: a name, never text (R3). Rows of one call come due together again, so that they can share one model call.
    """
    values: dict[str, Any] = {
        "ids": [item.id for item in work],
        "token": token,
        "error": error[: Work._meta.get_field("error").max_length],
        "blame": blame,
        "now": now.timestamp(),
        "alone_from": ALONE_FROM_ATTEMPTS,
        "max_attempts": MAX_ATTEMPTS,
        "max_postponements": MAX_POSTPONEMENTS,
        "first_pause": settings.WORK_RETRY_SECONDS,
        "longest_pause": LONGEST_PAUSE.total_seconds(),
        "jitter": random.uniform(0.75, 1.25),
    }
    with connection.cursor() as cursor:
        cursor.execute(PUT_OFF, values)


def release_claims(*, token: str) -> int:
    """Give back what a run that was killed had claimed; returns how many rows are free again.

    It counted as an attempt, as the work may be what killed the run: after too many it has failed.
    """
    return _release(Work.objects.filter(claim=token))


def has_claims(*, worker: str) -> bool:
    """Whether runs in a worker of this name hold claims."""
    return _list_claimed(worker).exists()


def release_claims_of(*, worker: str) -> int:
    """Give back what runs in the worker of this name had claimed, once it is gone, and wake others for it.

    Returns how many rows are free again. It counted as an attempt, as for `release_claims`.
    """
    claimed = _list_claimed(worker)
    kinds = set(claimed.values_list("kind", flat=True))
    released = _release(claimed)
    wake_workers(kinds)
    return released


def release_all_claims() -> int:
    """Give back what every run had claimed, where none is left: in a database that was restored. Returns how many."""
    return Work.objects.filter(claim__isnull=False).update(claim=None, lease_until=None, attempts=F("attempts") - 1)


def _list_claimed(worker: str) -> QuerySet[Work]:
    return Work.objects.filter(worker=worker, claim__isnull=False)


def _release(claimed: QuerySet[Work]) -> int:
    _give_up(claimed)
    return claimed.update(claim=None, lease_until=None)


def return_claims(*, token: str) -> int:
    """Give back what a run has claimed and could not use, through no fault of the work; returns how many rows."""
    return Work.objects.filter(claim=token).update(claim=None, lease_until=None, attempts=F("attempts") - 1)


def fail_lost_work(*, now: datetime) -> int:
    """Mark as failed what was lost with its worker too often; returns how many rows. What else was lost is just due."""
    return _give_up(Work.objects.filter(state=Work.State.DUE, lease_until__lt=now))


def replay_failed(*, ids: Collection[int]) -> int:
    """Make these rows due again, as if never tried; returns how many of them had failed."""
    failed = Work.objects.filter(id__in=ids, state=Work.State.FAILED)
    kinds = set(failed.values_list("kind", flat=True))
    replayed = failed.update(state=Work.State.DUE, due_at=timezone.now(), attempts=0, postponements=0, error="")
    wake_workers(kinds)
    return replayed


def _give_up(claimed: QuerySet[Work]) -> int:
    return claimed.filter(attempts__gte=MAX_ATTEMPTS).update(
        state=Work.State.FAILED, error=WORKER_LOST, claim=None, lease_until=None
    )


# By kind of work: `due` (waiting, those put off included), `claimed` (under way), `failed`, and `oldest_seconds`.
Backlog = dict[str, dict[str, int]]


def list_due_kinds(*, now: datetime) -> list[str]:
    """The kinds of which there is work that a run could claim now."""
    free = Q(lease_until__isnull=True) | Q(lease_until__lt=now)
    due = Work.objects.filter(free, state=Work.State.DUE, due_at__lte=now)
    return [kind for kind in Work.Kind.values if due.filter(kind=kind).exists()]


def count_backlog(*, user: User | None = None) -> Backlog:
    """How much is left to do of everybody's, or of one person's, by kind; `oldest_seconds` is 0 when nothing is."""
    now = timezone.now()
    left, claimed = Q(state=Work.State.DUE), Q(lease_until__gte=now)
    everything = Work.objects.order_by()
    rows = (
        (everything if user is None else everything.filter(user=user))
        .values("kind")
        .annotate(
            left=Count("id", filter=left),
            claimed=Count("id", filter=left & claimed),
            failed=Count("id", filter=Q(state=Work.State.FAILED)),
            oldest=Min("created_at", filter=left),
        )
    )
    backlog = {kind: {"due": 0, "claimed": 0, "failed": 0, "oldest_seconds": 0} for kind in Work.Kind.values}
    for row in rows:
        backlog[row["kind"]] = {
            "due": row["left"] - row["claimed"],
            "claimed": row["claimed"],
            "failed": row["failed"],
            "oldest_seconds": max(0, int((now - row["oldest"]).total_seconds())) if row["oldest"] else 0,
        }
    return backlog


def list_failed_ids(*, kind: str | None = None, user: User | None = None) -> list[int]:
    """The rows that failed, of one kind or of all, of one person or of everybody, oldest first."""
    failed = Work.objects.filter(state=Work.State.FAILED, **({} if user is None else {"user": user}))
    return list((failed.filter(kind=kind) if kind else failed).order_by("id").values_list("id", flat=True))
