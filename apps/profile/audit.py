"""What the audit record keeps of the profile, and of what was decided about proposals for it (L7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from apps.accounts.models import User
from apps.memory.history.types import ChangeDraft, Snapshot
from apps.memory.models import Change
from apps.memory.selectors import list_recorded
from apps.memory.services import empty_history, forget_history
from apps.profile.models import ProfileProposal, UserProfile
from apps.profile.types import TEXT_SECTIONS


def snapshot(profile: UserProfile) -> Snapshot:
    """Return the document, as versions keep it too."""
    return {**{name: getattr(profile, name) for name in TEXT_SECTIONS}, "sections": dict(profile.sections)}


def describe_change(profile: UserProfile, *, action: Change.Action, before: Snapshot | None) -> ChangeDraft:
    """Return the record of a change of the document, as it is now."""
    return ChangeDraft(
        kind=Change.Kind.PROFILE, action=action, object_id=profile.id, before=before, after=snapshot(profile)
    )


def snapshot_proposal(proposal: ProfileProposal) -> Snapshot:
    """Return what is proposed, and whether it waits for a decision."""
    return {"section": proposal.section, "text": proposal.text, "status": proposal.status}


def describe_decision(proposal: ProfileProposal, *, action: Change.Action, before: Snapshot) -> ChangeDraft:
    """Return the record of what was decided about a proposal."""
    return ChangeDraft(
        kind=Change.Kind.PROPOSAL,
        action=action,
        object_id=proposal.id,
        before=before,
        after=snapshot_proposal(proposal),
    )


def list_decided_texts(user: User) -> Iterator[tuple[str, str]]:
    """The sections and texts of proposals in the records of their decisions."""
    decisions = Change.objects.filter(user=user, kind=Change.Kind.PROPOSAL, before__isnull=False).order_by("id")
    for states in decisions.values_list("before", "after"):
        yield from ((state["section"], state["text"]) for state in states if state)


def forget_decisions(*, user: User, where: Callable[[str], bool], now: datetime) -> None:
    """Empty the records of proposals in which a text stands that `where` is true of (L6).

    A deletion is recorded of those that are gone; others only lose the words that they were proposed in.
    """
    recorded = list_recorded(user=user, kind=Change.Kind.PROPOSAL, where=where)
    living = set(ProfileProposal.objects.filter(user=user, id__in=recorded).values_list("id", flat=True))
    empty_history(user=user, kind=Change.Kind.PROPOSAL, object_ids=living)
    forget_history(user=user, kind=Change.Kind.PROPOSAL, object_ids=recorded - living, now=now)
