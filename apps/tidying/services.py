"""Asking for a run, by hand or on schedule, and undoing what one did (D1, D2)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from apps.accounts.models import User
from apps.accounts.selectors import get_own_values, get_settings
from apps.conversations.models import Message
from apps.conversations.queue import send_task
from apps.core.errors import Conflict, NotFound
from apps.core.llm.client import has_model
from apps.memory.changes.undo import MOST_TOGETHER, UndoneTogether, undo_together
from apps.memory.models import Change
from apps.profile.services import withdraw_proposals
from apps.tidying.models import Tidying

TASK = "apps.tidying.tasks.tidy"
# People that one look at the schedule takes up, and how long after a run the next one by itself may come.
PEOPLE_AT_ONCE = 50
SHORTEST_BREAK = timedelta(hours=20)

NO_MODEL = "Connect a model first: the offline one cannot tidy up."


@transaction.atomic
def request_tidying(user: User, *, now: datetime, by_hand: bool = True) -> Tidying:
    """Have a worker tidy up a person's memories; the run that waits already, where there is one.

    Raises `Conflict` where no model is connected.
    """
    if not has_model():
        raise Conflict(NO_MODEL)
    waiting = Tidying.objects.filter(user=user, state=Tidying.State.WAITING)
    try:
        with transaction.atomic():
            run = waiting.first() or Tidying.objects.create(user=user, by_hand=by_hand, created_at=now, due_at=now)
    except IntegrityError:  # another request was quicker
        run = waiting.get()
    if by_hand and not run.by_hand:
        run.by_hand, run.due_at = True, now
        run.save(update_fields=["by_hand", "due_at"])
    wake_tidier()
    return run


def wake_tidier() -> None:
    """Tell a worker, once the transaction commits, that a run is due; a lost call costs only time."""
    transaction.on_commit(partial(send_task, TASK))


def request_for_idle(*, now: datetime) -> int:
    """Ask for runs of those who want them (`memory.tidy_after_hours`), have been idle so long, and have news.

    Returns how many. Four queries, and two for each run.
    """
    if not has_model():
        return 0
    general, own = get_settings(None).tidy_after_hours, get_own_values("tidy_after_hours")
    people = User.objects.filter(is_active=True)
    if general is None:
        people = people.filter(id__in=[user_id for user_id, hours in own.items() if hours])
    asked = 0
    for user in _list_with_news(people, now=now)[:PEOPLE_AT_ONCE]:
        hours = own.get(user.pk, general)
        if hours and not Message.objects.filter(user=user, create_time__gt=now - timedelta(hours=hours)).exists():
            request_tidying(user, now=now, by_hand=False)
            asked += 1
    return asked


def _list_with_news(people: QuerySet[User], *, now: datetime) -> QuerySet[User]:
    """Those whose memories were changed since their last run, and who had none in the last hours."""
    runs = Tidying.objects.filter(user=OuterRef("pk"))
    recent = runs.filter(created_at__gt=now - SHORTEST_BREAK)
    covered = runs.filter(state=Tidying.State.DONE).order_by("-finished_at").values("covered")[:1]
    news = Change.objects.filter(user=OuterRef("pk"), kind__in=[Change.Kind.LONG_TERM, Change.Kind.ATOMIC])
    news = news.exclude(origin=Change.Origin.TIDYING)
    waiting = people.annotate(covered=covered).filter(~Exists(recent))
    newer = news.filter(id__gt=OuterRef("covered"))
    return waiting.filter(Q(Exists(news), covered=None) | Exists(newer)).order_by("id")


def list_tidyings(user: User) -> QuerySet[Tidying]:
    """Return a person's runs, newest first."""
    return Tidying.objects.filter(user=user)


def get_tidying(user: User, run_id: UUID) -> Tidying:
    """Return a run of theirs, or raise `NotFound`."""
    run = list_tidyings(user).filter(id=run_id).first()
    if run is None:
        raise NotFound("This run does not exist.")
    return run


def find_unseen(user: User) -> Tidying | None:
    """Return the newest letter, unless its person has seen it (`mark_seen`). One query."""
    letters = list_tidyings(user).filter(state=Tidying.State.DONE, seen_at=None)
    return letters.filter(Q(by_hand=True) | ~Q(operations=[]) | ~Q(proposals=[])).first()


def mark_seen(user: User, run_id: UUID, *, now: datetime) -> Tidying:
    """Note that a person has seen a letter: neither it nor those before it is new any more. Raises `NotFound`."""
    run = get_tidying(user, run_id)
    done = list_tidyings(user).filter(created_at__lte=run.created_at, state=Tidying.State.DONE)
    done.filter(seen_at=None).update(seen_at=now)
    run.refresh_from_db()
    return run


@transaction.atomic
def undo_tidying(user: User, run_id: UUID, *, now: datetime) -> UndoneTogether:
    """Undo all that a run did and that stands, as one operation, and take back what it proposed and nobody decided.

    What has changed since stays and is counted. Raises `NotFound`; `Conflict` where nothing is left to be undone.
    """
    run = get_tidying(user, run_id)
    standing = list_standing(run)
    withdraw_proposals(user=user, proposal_ids=run.proposals)
    if not standing and not run.proposals:
        raise Conflict("There is nothing to undo.")
    return undo_together(user=user.overseeing(), operations=standing[:MOST_TOGETHER], now=now)


def list_standing(run: Tidying) -> Sequence[UUID]:
    """Return the operations of a run that are not undone, newest first. One query."""
    rows = Change.objects.filter(user=run.user_id, operation__in=run.operations, undone_by=None).order_by("-id")
    return list(dict.fromkeys(rows.values_list("operation", flat=True)))
