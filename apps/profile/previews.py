"""What accepting a proposal would do to the profile, without doing it (M6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from apps.profile.document import read_document
from apps.profile.models import ProfileProposal, UserProfile
from apps.profile.statements import merge_statement


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
        after=merge_statement(before, proposal.text),
        edited_at=datetime.fromisoformat(edited_at) if edited_at else None,
    )
