"""A run: claim it, read, ask the model about cluster after cluster, write everything at once (D1, D2).

No transaction and no lock is held while the model answers. A run that is killed has written nothing, and is done again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import structlog
from django.conf import settings as django_settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.selectors import get_settings
from apps.accounts.services.people import keep_account
from apps.accounts.types import MemorySettings
from apps.conversations.worker import DATABASE_ERRORS, name_error
from apps.core.db import release_connections
from apps.core.llm.client import ask_for_object
from apps.core.llm.metering import collect_calls, get_calls
from apps.costs.budgets import list_paused
from apps.costs.ledger import record_calls, record_rest
from apps.memory.changes.records import Origin, changed_by
from apps.memory.locking import lock_memories
from apps.profile.services import get_user_profile, propose_text
from apps.tidying.clusters import group, pack
from apps.tidying.decide import Decider, Decision, Situation
from apps.tidying.models import Tidying
from apps.tidying.prompt import INSTRUCTION_TOKENS, ProposedText, make_request, read_answer
from apps.tidying.reading import Reading, read_memories
from apps.tidying.writing import write_decisions

logger = structlog.get_logger(__name__)

# Of one call: what a model can compare well, and what its answer has room for.
MEMORIES_TOGETHER, TOKENS_TOGETHER = 80, 6_000
# Runs that die or come to nothing before it counts as failed, and how long the first waits.
MAX_ATTEMPTS = 5
FIRST_PAUSE = timedelta(minutes=1)


class ClaimLost(Exception):
    """The run is not this worker's any more, or its person is gone."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the model proposed, and the decisions on it. `covered`: the newest record that was read."""

    decisions: Sequence[Decision] = ()
    sections: Sequence[ProposedText] = ()
    shown: int = 0
    covered: int = 0
    left: Sequence[UUID] = ()
    read_at: datetime | None = None


@transaction.atomic
def claim_run(*, token: str, now: datetime) -> Tidying | None:
    """Claim the run that has been due longest; None where there is none, or its person's budget is spent (Q2)."""
    free = Q(lease_until=None) | Q(lease_until__lt=now) | Q(claim=token)
    due = Tidying.objects.filter(free, state=Tidying.State.WAITING, due_at__lte=now).order_by("due_at", "id")
    paused = list_paused(now=now)
    if paused is None:
        return None
    found = due.exclude(user__in=paused).select_for_update(no_key=True, skip_locked=True).first()
    if found is None:
        return None
    found.attempts += 1
    found.claim, found.lease_until = token, now + timedelta(seconds=django_settings.WORK_LEASE_SECONDS)
    found.save(update_fields=["claim", "lease_until", "attempts"])
    return found


def do_run(run: Tidying, *, token: str) -> None:
    """Do a claimed run. Whatever else than the database goes wrong is kept as its error."""
    user = User.objects.get(id=run.user_id)
    owners = {(user.pk, user.data_epoch): 1}
    with collect_calls() as calls:
        try:
            if run.attempts > MAX_ATTEMPTS:
                put_off(run, token=token, error="worker_lost")
                return
            outcome = _propose(user, run, settings=get_settings(user))
            _write(user, run, outcome, token=token)
        except ClaimLost:
            return
        except DATABASE_ERRORS:
            raise
        except Exception as error:  # whatever a run trips over, the others go on
            logger.warning("tidying_failed", run=str(run.id), error=name_error(error))
            put_off(run, token=token, error=name_error(error))
        finally:
            record_rest(calls, owners=owners)


@transaction.atomic
def put_off(run: Tidying, *, token: str, error: str) -> None:
    """Try a run again later, each time after twice as long; too many times, or asked for by hand, it has failed."""
    held = Tidying.objects.select_for_update(no_key=True).filter(id=run.pk, claim=token, state=Tidying.State.WAITING)
    for row in held:
        row.claim, row.lease_until, row.error = None, None, error[:100]
        if row.by_hand or row.attempts >= MAX_ATTEMPTS:
            row.state, row.finished_at = Tidying.State.FAILED, timezone.now()
        else:
            row.due_at = timezone.now() + FIRST_PAUSE * 2**row.attempts
        row.save()


def _renew(run: Tidying) -> None:
    until = timezone.now() + timedelta(seconds=django_settings.WORK_LEASE_SECONDS)
    if not Tidying.objects.filter(id=run.pk, claim=run.claim).update(lease_until=until):
        raise ClaimLost


def find_last(user: User) -> Tidying | None:
    """Return the last run that came to its end."""
    return Tidying.objects.filter(user=user, state=Tidying.State.DONE).order_by("-finished_at").first()


# What the model proposes


def _propose(user: User, run: Tidying, *, settings: MemorySettings) -> Outcome:
    """Read, and ask about what is new with what is near to it, as far as the budget of a run goes."""
    now = timezone.now()
    reading = read_memories(user, settings=settings, last=find_last(user), now=now)
    plan = plan_calls(reading, budget=settings.tidying_tokens)
    decider = Decider(
        Situation(
            is_related=reading.is_related,
            proposed=reading.proposed,
            said=reading.said,
            threshold=settings.auto_accept_confidence,
            max_length=settings.atomic_content_max_length,
            now=now,
        )
    )
    profile = _read_profile(user) if settings.enable_user_profile else {}
    decisions: list[Decision] = []
    sections: dict[str, ProposedText] = {}
    by_id = {memory.id: memory for memory in reading.memories}
    for ids in plan.calls:
        _renew(run)
        shown = [by_id[memory_id] for memory_id in ids]
        # What is only in a space is not for the profile, which is everywhere (P3).
        shown_profile = profile if shown[0].space_id is None else {}
        release_connections()
        answer = read_answer(ask_for_object(make_request(shown, profile=shown_profile, zone=settings.zone, now=now)))
        decisions += decider.decide(answer.changes, shown)
        if shown_profile:
            sections |= {one.section: one for one in answer.profile if one.section in profile}
            profile |= {name: one.text for name, one in sections.items()}
    return Outcome(
        decisions=decisions,
        sections=list(sections.values()),
        shown=sum(map(len, plan.calls)),
        covered=reading.newest,
        left=plan.left,
        read_at=now,
    )


@dataclass(frozen=True, slots=True)
class Plan:
    """The calls of a run, each the IDs of what is shown; `left`: what is new and is for the next run."""

    calls: Sequence[Sequence[UUID]] = ()
    left: Sequence[UUID] = ()


def plan_calls(reading: Reading, *, budget: int) -> Plan:
    """Choose what to ask about: the clusters in which something is new, within a budget. Nothing new: no call. Pure.

    `budget`: tokens of all prompts, as estimated; no call is larger than it.
    """
    together = min(TOKENS_TOGETHER, budget - INSTRUCTION_TOKENS)
    calls: list[Sequence[UUID]] = []
    left: list[UUID] = []
    for space_id in dict.fromkeys(memory.space_id for memory in reading.memories):
        items = {item.id: item for item in reading.list_items(space_id)}
        clusters = group(list(items.values()), reading.nearness, most=MEMORIES_TOGETHER, tokens=together)
        new = [[items[one] for one in cluster] for cluster in clusters if any(one in reading.news for one in cluster)]
        for ids in pack(new, most=MEMORIES_TOGETHER, tokens=together):
            cost = INSTRUCTION_TOKENS + sum(items[one].tokens for one in ids)
            # Alone, a memory that is longer than a call is left out for good: nothing is compared with it.
            if len(ids) == 1 and cost > together + INSTRUCTION_TOKENS:
                continue
            if cost > budget:
                left += [one for one in ids if one in reading.news]
            else:
                budget -= cost
                calls.append(ids)
    return Plan(calls, left)


def _read_profile(user: User) -> dict[str, str]:
    profile = get_user_profile(user=user)
    return {} if profile is None else {name: text for name, text in profile.texts.items() if text}


# Writing


def _write(user: User, run: Tidying, outcome: Outcome, *, token: str) -> None:
    """Write all of it, with the end of the run, in one transaction."""
    release_connections()
    calls, now = get_calls(), timezone.now()
    with transaction.atomic(), changed_by(origin=Origin.TIDYING, actor=None):
        keep_account(user)
        lock_memories(user)
        held = Tidying.objects.select_for_update(no_key=True).filter(
            id=run.pk, claim=token, state=Tidying.State.WAITING, user__data_epoch=user.data_epoch
        )
        row = held.first()
        if row is None:
            raise ClaimLost
        row.operations = write_decisions(user, outcome.decisions, now=now)
        row.proposals = _propose_sections(user, outcome.sections, now=now)
        row.state, row.finished_at, row.error = Tidying.State.DONE, now, ""
        row.shown, row.covered, row.read_at = outcome.shown, outcome.covered, outcome.read_at
        row.left = list(outcome.left)
        row.claim = row.lease_until = None
        row.save()
        record_calls(calls, owners={(user.pk, user.data_epoch): 1})
    calls.clear()


def _propose_sections(user: User, sections: Sequence[ProposedText], *, now: datetime) -> list[UUID]:
    ids = {uuid4(): one for one in sections}
    return [
        proposal_id
        for proposal_id, one in ids.items()
        if propose_text(user=user, proposal_id=proposal_id, section=one.section, text=one.text, now=now)
    ]
