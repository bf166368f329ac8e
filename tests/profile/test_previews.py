"""Deciding about proposals for the profile: what accepting would do, in other words, and deciding again (U3, M6)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from apps.accounts.models import User
from apps.core.errors import Conflict, InvalidInput, NotFound, TooLarge
from apps.profile.document import ProposedSection
from apps.profile.models import ProfileProposal
from apps.profile.services import (
    SectionChange,
    accept_proposal,
    get_user_profile,
    preview_proposals,
    propose_sections,
    reject_proposal,
    reopen_proposal,
    update_profile,
)
from tests.support.factories import UserFactory

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)


@pytest.fixture
def user(db: None) -> User:
    return UserFactory()


@pytest.fixture
def proposal(user: User) -> ProfileProposal:
    update_profile(user=user, changes={"reply_style": "Long replies.\nNo emoji."}, now=NOW)
    proposed = ProposedSection(section="reply_style", text="Short replies.", message_id=None, said_at=LATER)
    propose_sections(user=user, proposals=[proposed], now=LATER)
    return ProfileProposal.objects.get(user=user)


def read_style(user: User) -> str:
    profile = get_user_profile(user=user)
    assert profile is not None
    return profile.reply_style


@pytest.mark.spec("M6")
def test_a_preview_says_what_accepting_writes(user: User, proposal: ProfileProposal) -> None:
    change = preview_proposals([proposal])[proposal.id]
    assert change == SectionChange(before="Long replies.\nNo emoji.", after="Short replies.", edited_at=NOW)
    assert read_style(user) == change.before
    accept_proposal(user=user, proposal_id=proposal.id, now=LATER)
    assert read_style(user) == change.after
    assert preview_proposals([]) == {}


@pytest.mark.spec("U3")
def test_a_proposal_can_be_accepted_in_other_words(user: User, proposal: ProfileProposal) -> None:
    for text, error in ((" ", InvalidInput), ("x" * 2001, TooLarge)):
        with pytest.raises(error):
            accept_proposal(user=user, proposal_id=proposal.id, text=text, now=LATER)
    assert ProfileProposal.objects.get().text == "Short replies."
    accept_proposal(user=user, proposal_id=proposal.id, text=" Brief replies, please. ", now=LATER)
    assert read_style(user) == "Brief replies, please."
    assert (ProfileProposal.objects.get().status, ProfileProposal.objects.get().text) == (
        "accepted",
        "Brief replies, please.",
    )


@pytest.mark.spec("U3")
def test_a_decision_can_be_taken_back(user: User, proposal: ProfileProposal) -> None:
    with pytest.raises(Conflict):
        reopen_proposal(user=user, proposal_id=proposal.id, now=LATER)
    reject_proposal(user=user, proposal_id=proposal.id, now=LATER)
    with pytest.raises(NotFound):
        reopen_proposal(user=UserFactory(), proposal_id=proposal.id, now=LATER)
    assert reopen_proposal(user=user, proposal_id=proposal.id, now=LATER).status == "pending"
    accept_proposal(user=user, proposal_id=proposal.id, now=LATER)
    assert reopen_proposal(user=user, proposal_id=proposal.id, now=LATER).status == "pending"
