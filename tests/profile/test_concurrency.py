"""Writers of one person's profile at the same moment, each in a thread and a connection of its own."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from apps.accounts.models import User
from apps.core.errors import Outdated
from apps.profile.document import TEXT_SECTIONS, ProposedSection
from apps.profile.models import UserProfile
from apps.profile.services import get_user_profile, list_versions, propose_sections, update_profile
from tests.support.factories import UserFactory
from tests.support.workers import run_together

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
WRITERS = 6

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]


def write(user: User, number: int) -> None:
    """Write a section of the number's own, by hand and by the assistant in turn."""
    if number % 2:
        update_profile(user=user, changes={"sections": {f"s{number}": "x"}}, now=NOW)
    else:
        section = TEXT_SECTIONS[number // 2]
        propose_sections(user=user, proposals=[ProposedSection(section, "x", None, NOW)], now=NOW)


@pytest.mark.spec("U3")
def test_versions_have_no_gap_and_no_section_is_lost() -> None:
    user = UserFactory()
    run_together([lambda number=number: write(user, number) for number in range(WRITERS)])
    snapshot = get_user_profile(user=user)
    assert snapshot is not None
    assert set(snapshot.texts) == {*TEXT_SECTIONS, "s1", "s3", "s5"}
    versions = list(list_versions(user))
    assert [row.version for row in versions] == list(range(WRITERS, 0, -1))
    texts = [[*row.document["sections"].values(), *(row.document[name] for name in TEXT_SECTIONS)] for row in versions]
    assert [len(list(filter(None, row))) for row in texts] == list(range(WRITERS, 0, -1))
    assert UserProfile.objects.filter(user=user).count() == 1


@pytest.mark.spec("U1")
def test_of_several_who_save_the_section_they_opened_together_one_is_first() -> None:
    user = UserFactory()
    update_profile(user=user, changes={"background": "律师"}, now=NOW)
    refused: list[int] = []

    def save(number: int) -> None:
        try:
            update_profile(user=user, changes={"background": f"第{number}版"}, seen={"background": "律师"}, now=NOW)
        except Outdated:
            refused.append(number)

    run_together([lambda number=number: save(number) for number in range(WRITERS)])
    (first,) = set(range(WRITERS)) - set(refused)
    snapshot = get_user_profile(user=user)
    assert snapshot is not None
    assert (snapshot.background, snapshot.version) == (f"第{first}版", 2)
