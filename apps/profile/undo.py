"""Bringing the profile back to what it was (L7)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from apps.accounts.models import User
from apps.memory.history.types import Snapshot
from apps.memory.services import TrackedKind
from apps.profile.audit import snapshot
from apps.profile.models import UserProfile
from apps.profile.services import lock_profile, restore_document


def _lock(user: User) -> None:
    lock_profile(user)


def _read(user: User, ids: Collection[UUID]) -> Mapping[UUID, UserProfile]:
    return UserProfile.objects.filter(user=user, version__gt=0).in_bulk(list(ids))


def _restore(*, user: User, rows: Sequence[tuple[UserProfile, Snapshot | None]], now: datetime) -> None:
    """Write the document as it was; before there was any, it was empty."""
    for profile, before in rows:
        restore_document(profile=profile, document=before or {}, now=now)


KIND = TrackedKind(lock=_lock, read=_read, snapshot=snapshot, restore=_restore)
