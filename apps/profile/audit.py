"""What the audit record keeps of the profile (L7)."""

from __future__ import annotations

from apps.memory.history.types import ChangeDraft, Snapshot
from apps.memory.models import Change
from apps.profile.models import UserProfile
from apps.profile.types import TEXT_SECTIONS


def snapshot(profile: UserProfile) -> Snapshot:
    """Return the document, as versions keep it too."""
    return {**{name: getattr(profile, name) for name in TEXT_SECTIONS}, "sections": dict(profile.sections)}


def describe_change(profile: UserProfile, *, action: Change.Action, before: Snapshot | None) -> ChangeDraft:
    """Return the record of a change of the document, as it is now."""
    return ChangeDraft(
        kind=Change.Kind.PROFILE, action=action, object_id=profile.id, before=before, after=snapshot(profile)
    )
