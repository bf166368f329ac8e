"""The tables of a person's data in this app (R2, R3)."""

from __future__ import annotations

from apps.accounts.services.personal_data import PersonalTable, register_tables
from apps.profile.models import ProfileProposal, ProfileVersion, UserProfile

register_tables(
    PersonalTable(UserProfile),
    PersonalTable(ProfileVersion, identity=("profile_id", "version")),
    PersonalTable(ProfileProposal),
)
