"""Every change of the profile has its audit record and can be undone, but for a deletion (L7)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.accounts.models import User
from apps.core.errors import Conflict
from apps.memory.changes.records import changed_by
from apps.memory.changes.undo import undo_operation
from apps.memory.models import Change
from apps.profile.document import ProposedSection
from apps.profile.models import ProfileProposal
from apps.profile.services import (
    accept_proposal,
    forget_profile,
    get_user_profile,
    list_pending_proposals,
    list_versions,
    propose_sections,
    reject_proposal,
    reopen_proposal,
    update_profile,
)
from tests.support.factories import UserFactory

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
NOTHING: dict[str, Any] = {"reply_style": "", "language_habits": "", "background": "", "sections": {}}


@pytest.fixture
def user(db: None) -> User:
    return UserFactory()


def propose(user: User, section: str, text: str, *, said_at: datetime) -> None:
    proposal = ProposedSection(section=section, text=text, message_id=None, said_at=said_at)
    with changed_by(origin=Change.Origin.EXTRACTION, actor=None):
        propose_sections(user=user, proposals=[proposal], now=said_at)


def undo(user: User, change: Change, *, now: datetime = NOW + 9 * MINUTE) -> None:
    undo_operation(user=user, operation=change.operation, now=now)


@pytest.mark.spec("L7", "U3")
def test_every_change_is_recorded_with_who_made_it(user: User) -> None:
    propose(user, "background", "律师", said_at=NOW)
    for _again in range(2):
        update_profile(user=user, changes={"background": "老师"}, now=NOW + MINUTE)
    propose(user, "background", "住在北京", said_at=NOW + 2 * MINUTE)
    accept_proposal(user=user, proposal_id=list_pending_proposals(user).get().id, now=NOW + 3 * MINUTE)
    fields = ("action", "origin", "actor", "before", "after", "created_at")
    assert list(Change.objects.filter(user=user, kind="profile").order_by("id").values_list(*fields)) == [
        ("create", "extraction", None, None, NOTHING | {"background": "律师"}, NOW),
        ("edit", "api", user.pk, NOTHING | {"background": "律师"}, NOTHING | {"background": "老师"}, NOW + MINUTE),
        (
            "accept",
            "api",
            user.pk,
            NOTHING | {"background": "老师"},
            NOTHING | {"background": "住在北京"},
            NOW + 3 * MINUTE,
        ),
    ]


@pytest.mark.spec("L7")
def test_a_change_can_be_undone_and_done_again(user: User) -> None:
    update_profile(user=user, changes={"background": "律师", "sections": {"宠物": "猫"}}, now=NOW)
    update_profile(user=user, changes={"sections": {"宠物": None}}, now=NOW + MINUTE)
    first, second = Change.objects.order_by("id")
    with pytest.raises(Conflict):  # the second came after it
        undo(user, first)
    undo(user, second)
    snapshot = get_user_profile(user=user)
    assert snapshot is not None
    assert (snapshot.background, snapshot.sections, snapshot.version) == ("律师", {"宠物": "猫"}, 3)
    assert list_versions(user)[0].document == second.before
    undoing = Change.objects.latest("id")
    assert (undoing.action, undoing.before, undoing.after) == ("undo", second.after, second.before)
    undo(user, undoing)
    snapshot = get_user_profile(user=user)
    assert snapshot is not None
    assert (snapshot.sections, snapshot.version) == ({}, 4)


@pytest.mark.spec("L7", "U3")
def test_what_the_machine_wrote_and_was_undone_is_only_proposed_from_then_on(user: User) -> None:
    propose(user, "reply_style", "Short answers", said_at=NOW)
    undo(user, Change.objects.get())
    snapshot = get_user_profile(user=user)
    assert snapshot is not None
    assert (snapshot.is_empty, snapshot.version) == (True, 2)
    propose(user, "reply_style", "Short answers", said_at=NOW)
    assert not list_pending_proposals(user).exists()
    propose(user, "reply_style", "Short answers", said_at=NOW + 10 * MINUTE)
    assert list_pending_proposals(user).get().text == "Short answers"


@pytest.mark.spec("L6", "L7")
def test_a_deletion_empties_the_records_and_is_final(user: User) -> None:
    update_profile(user=user, changes={"background": "律师"}, now=NOW)
    forget_profile(user=user, now=NOW + MINUTE)
    forget_profile(user=user, now=NOW + 2 * MINUTE)
    changes = list(Change.objects.order_by("id"))
    assert [(change.action, change.before, change.after) for change in changes] == [
        ("create", None, None),
        ("delete", None, None),
    ]
    update_profile(user=user, changes={"background": "老师"}, now=NOW + 3 * MINUTE)
    for change in changes:
        with pytest.raises(Conflict):
            undo(user, change)


@pytest.fixture
def proposal(user: User) -> ProfileProposal:
    update_profile(user=user, changes={"background": "老师"}, now=NOW)
    propose(user, "background", "住在北京", said_at=NOW + MINUTE)
    return list_pending_proposals(user).get()


def list_decisions(user: User) -> list[tuple[Any, ...]]:
    rows = Change.objects.filter(user=user, kind="proposal").order_by("id")
    return [
        (change.action, change.actor_id, *((state["status"], state["text"]) for state in (change.before, change.after)))
        for change in rows
    ]


@pytest.mark.spec("L7", "U3")
def test_every_decision_about_a_proposal_is_recorded(user: User, proposal: ProfileProposal) -> None:
    reject_proposal(user=user, proposal_id=proposal.id, now=NOW + 2 * MINUTE)
    reopen_proposal(user=user, proposal_id=proposal.id, now=NOW + 3 * MINUTE)
    accept_proposal(user=user, proposal_id=proposal.id, text="在北京住", now=NOW + 4 * MINUTE)
    assert list_decisions(user) == [
        ("reject", user.pk, ("pending", "住在北京"), ("rejected", "住在北京")),
        ("edit", user.pk, ("rejected", "住在北京"), ("pending", "住在北京")),
        ("accept", user.pk, ("pending", "住在北京"), ("accepted", "在北京住")),
    ]
    times = Change.objects.filter(kind="proposal", object_id=proposal.id).order_by("id")
    assert list(times.values_list("created_at", flat=True)) == [NOW + number * MINUTE for number in (2, 3, 4)]


@pytest.mark.spec("L7", "U3")
def test_a_rejection_is_undone(user: User, proposal: ProfileProposal) -> None:
    reject_proposal(user=user, proposal_id=proposal.id, now=NOW + 2 * MINUTE)
    undo(user, Change.objects.get(kind="proposal"))
    assert list_pending_proposals(user).get() == proposal


@pytest.mark.spec("L7", "U3")
def test_an_acceptance_is_undone_with_what_it_wrote(user: User, proposal: ProfileProposal) -> None:
    """Both are one operation, whose records say all of it: neither is undone without the other, nor done again."""

    def read() -> tuple[str, str, str]:
        proposal.refresh_from_db()
        profile = get_user_profile(user=user)
        assert profile is not None
        return proposal.status, proposal.text, profile.background

    accept_proposal(user=user, proposal_id=proposal.id, text="在北京住", now=NOW + 2 * MINUTE)
    written, decided = Change.objects.filter(user=user, created_at=NOW + 2 * MINUTE).order_by("id")
    assert (written.kind, decided.kind, written.operation) == ("profile", "proposal", decided.operation)
    undo(user, written)
    assert read() == ("pending", "住在北京", "老师")
    undoing = Change.objects.latest("id")
    assert Change.objects.filter(operation=undoing.operation, action="undo").count() == 2
    with pytest.raises(Conflict):
        undo(user, decided)
    undo(user, undoing)
    assert read() == ("accepted", "在北京住", "在北京住")


@pytest.mark.spec("L7", "U3")
def test_an_acceptance_is_not_undone_by_half(user: User, proposal: ProfileProposal) -> None:
    accept_proposal(user=user, proposal_id=proposal.id, now=NOW + 2 * MINUTE)
    accepted = Change.objects.get(kind="proposal")
    update_profile(user=user, changes={"background": "医生"}, now=NOW + 3 * MINUTE)
    with pytest.raises(Conflict):
        undo(user, accepted)
    proposal.refresh_from_db()
    assert proposal.status == "accepted"


@pytest.mark.spec("L6", "L7")
def test_with_the_document_the_decisions_lose_their_text(user: User, proposal: ProfileProposal) -> None:
    reject_proposal(user=user, proposal_id=proposal.id, now=NOW + 2 * MINUTE)
    forget_profile(user=user, now=NOW + 3 * MINUTE)
    rows = Change.objects.filter(user=user, kind="proposal", object_id=proposal.id).order_by("id")
    assert list(rows.values_list("action", "before", "after")) == [("reject", None, None), ("delete", None, None)]
