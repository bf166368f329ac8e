"""Reading the profile document, its versions and its proposals."""

from __future__ import annotations

import json
from datetime import datetime

from django.db.models import F, Q, QuerySet

from apps.accounts.models import User
from apps.core.db import fetch_prepared
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
