"""Reading the profile document, its versions and its proposals."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import F, Q, QuerySet

from apps.accounts.models import User
from apps.core.db import fetch_prepared
from apps.profile.document import read_document
from apps.profile.models import ProfileProposal, ProfileVersion, UserProfile
from apps.profile.types import ProfileSnapshot

_DOCUMENT = """
SELECT reply_style, language_habits, background, sections, version, updated_at
FROM user_profile
WHERE user_id = %(user)s AND version > 0
"""


def get_user_profile(*, user: User) -> ProfileSnapshot | None:
    """Return the document, None where there is none (U1, U2); one query."""
    rows = fetch_prepared(_DOCUMENT, {"user": user.pk})
    if not rows:
        return None
    reply_style, language_habits, background, sections, version, updated_at = rows[0]
    return ProfileSnapshot(
        reply_style=reply_style,
        language_habits=language_habits,
        background=background,
        sections=json.loads(sections),
        version=version,
        updated_at=updated_at,
    )


def find_profile_then_and_now(
    *, user: User, version: int, until: datetime
) -> tuple[ProfileSnapshot | None, ProfileSnapshot | None]:
    """Return a version of the document and the current one; one query.

    None where it is gone: a version of the same number made after `until` is another.
    """
    rows = ProfileVersion.objects.filter(Q(version=version) | Q(version=F("profile__version")), user=user)
    found = {
        row.version: ProfileSnapshot(**row.document, version=row.version, updated_at=row.created_at)
        for row in rows.order_by("version")
    }
    then, now = found.get(version), found[max(found)] if found else None
    return (then if then and then.updated_at <= until else None), now


def find_profile_at(*, user: User, at: datetime) -> ProfileSnapshot | None:
    """Return the document as it was at a time, None where there was none or its versions were deleted since."""
    row = ProfileVersion.objects.filter(user=user, created_at__lte=at).order_by("-version").first()
    if row is None:
        return None
    return ProfileSnapshot(**row.document, version=row.version, updated_at=row.created_at)


def to_snapshot(profile: UserProfile) -> ProfileSnapshot:
    """Return the plain value of a row."""
    return ProfileSnapshot(
        reply_style=profile.reply_style,
        language_habits=profile.language_habits,
        background=profile.background,
        sections=profile.sections,
        version=profile.version,
        updated_at=profile.updated_at,
    )


def list_pending_proposals(user: User) -> QuerySet[ProfileProposal]:
    """Return what waits for the person's decision, oldest first."""
    return ProfileProposal.objects.filter(user=user, status="pending").order_by("created_at", "id")


def list_versions(user: User) -> QuerySet[ProfileVersion]:
    """Return every version of the document, newest first."""
    return ProfileVersion.objects.filter(user=user).order_by("-version")


@dataclass(frozen=True, slots=True)
class SectionChange:
    """What `accept_proposal` would make of the proposal's section; `edited_at`: when the person wrote it, if ever."""

    before: str
    after: str
    edited_at: datetime | None


def preview_proposals(proposals: Iterable[ProfileProposal]) -> Mapping[UUID, SectionChange]:
    """Return what accepting each of these, of any number of people, would do by itself. One query."""
    pending = list(proposals)
    owners = {proposal.user_id for proposal in pending}
    profiles = {profile.user_id: profile for profile in UserProfile.objects.filter(user__in=owners)} if owners else {}
    return {proposal.id: _preview(proposal, profiles.get(proposal.user_id)) for proposal in pending}


def _preview(proposal: ProfileProposal, profile: UserProfile | None) -> SectionChange:
    before = read_document(profile).get(proposal.section, "") if profile else ""
    edited_at = profile.edited_at.get(proposal.section) if profile else None
    return SectionChange(
        before=before,
        after=proposal.text,
        edited_at=datetime.fromisoformat(edited_at) if edited_at else None,
    )
