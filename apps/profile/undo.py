"""Bringing the profile, and proposals for it, back to what they were (L7)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from apps.accounts.models import User
from apps.memory.history.types import Snapshot
from apps.memory.services import TrackedKind
from apps.profile.audit import snapshot, snapshot_proposal
from apps.profile.models import ProfileProposal, UserProfile
from apps.profile.services import lock_profile, restore_document, restore_proposal


def _lock(user: User) -> None:
    lock_profile(user)


def _read(user: User, ids: Collection[UUID]) -> Mapping[UUID, UserProfile]:
    return UserProfile.objects.filter(user=user, version__gt=0).in_bulk(list(ids))


def _restore(*, user: User, rows: Sequence[tuple[UserProfile, Snapshot | None]], now: datetime) -> None:
    """Write the document as it was; before there was any, it was empty."""
    for profile, before in rows:
        restore_document(profile=profile, document=before or {}, now=now)


def _read_proposals(user: User, ids: Collection[UUID]) -> Mapping[UUID, ProfileProposal]:
    return ProfileProposal.objects.filter(user=user).in_bulk(list(ids))


def _restore_proposals(*, user: User, rows: Sequence[tuple[ProfileProposal, Snapshot | None]], now: datetime) -> None:
    """Let them wait, or be decided, as before. Only decisions are recorded, so each was something before."""
    for proposal, before in rows:
        if before is not None:
            restore_proposal(proposal, before)


KIND = TrackedKind(lock=_lock, read=_read, snapshot=snapshot, restore=_restore)
PROPOSALS = TrackedKind(lock=_lock, read=_read_proposals, snapshot=snapshot_proposal, restore=_restore_proposals)
