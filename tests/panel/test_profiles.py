"""The profile in the panel: a document to read and edit, proposals beside their sections, versions to come back to."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.profile.document import ProposedSection
from apps.profile.models import ProfileProposal, ProfileVersion, UserProfile
from apps.profile.services import get_user_profile, list_pending_proposals, propose_sections, update_profile
from tests.panel.conftest import browse, events, toast
from tests.support.factories import UserFactory

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
PROFILE, VERSION, PROPOSAL = (f"admin:profile_{name}" for name in ("userprofile", "profileversion", "profileproposal"))
HTMX = {"HX-Request": "true"}

pytestmark = [
    pytest.mark.spec("M5"),
    pytest.mark.long_except(
        "test_the_document_has_its_sections_proposals_and_versions",
        "test_an_edit_is_one_by_hand_and_can_be_undone",
        "test_nobody_reads_or_changes_another_persons",
    ),
]


def make_profile() -> UserProfile:
    """A profile of one version and with one proposal."""
    user = UserFactory()
    update_profile(user=user, changes={"reply_style": "像朋友一样", "sections": {"宠物": "猫"}}, now=NOW)
    proposal = ProposedSection("reply_style", "No emoji", None, NOW + timedelta(minutes=1))
    propose_sections(user=user, proposals=[proposal], now=NOW)
    return UserProfile.objects.get(user=user)


@pytest.fixture
def profile(db: None) -> UserProfile:
    return make_profile()


@pytest.fixture
def own(profile: UserProfile) -> Client:
    """The browser of whose profile it is."""
    return browse(profile.user)


def read(profile: UserProfile) -> dict[str, str]:
    snapshot = get_user_profile(user=profile.user)
    assert snapshot is not None
    return snapshot.texts


def post(browser: Client, page: str, /, **fields: Any) -> Any:
    return browser.post(reverse(f"admin:{page}"), fields, headers=HTMX)


def test_cards_tell_whose_it_is_what_it_says_and_what_waits(root: User, client: Client, profile: UserProfile) -> None:
    (card,) = client.get(reverse(f"{PROFILE}_changelist")).context["cards"]
    assert (card["count"], card["by_hand"], card["waiting"]) == (2, 2, 1)
    assert card["sections"] == [("Reply style", "像朋友一样"), ("宠物", "猫")]
    assert card["link"] == f"{reverse('admin:profile')}?user={profile.user.pk}"


def test_the_document_has_its_sections_proposals_and_versions(
    own: Client, profile: UserProfile, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(12):
        page = own.get(reverse("admin:profile"))
    names = [section.name for section in page.context["sections"]]
    assert names == ["reply_style", "language_habits", "background", "宠物"]
    style = page.context["sections"][0]
    assert style.edited_at == NOW
    assert [(before, after) for _row, before, after in style.proposals] == [("像朋友一样", "No emoji")]
    (version,) = page.context["timeline"]
    assert [(title, after) for title, _before, after in version["changes"]] == [
        ("Reply style", "像朋友一样"),
        ("宠物", "猫"),
    ]


@pytest.mark.parametrize("decision", ["accept", "reject"])
def test_the_place_of_one_that_was_decided_is_taken_by_the_next(
    own: Client, profile: UserProfile, decision: str
) -> None:
    ProfileProposal.objects.bulk_create(
        ProfileProposal(
            user=profile.user, section="宠物", text=f"第{number}只狗", created_at=NOW + timedelta(hours=number + 1)
        )
        for number in range(11)
    )
    first = ProfileProposal.objects.get(text="第0只狗")
    page = post(own, "profile_proposal", proposal=first.id, decision=decision)
    shown = [row.text for section in page.context["sections"] for row, _before, _after in section.proposals]
    assert shown == ["No emoji", *(f"第{number}只狗" for number in range(1, 10))]
    undone = own.post(reverse("admin:undo"), {"operations": toast(page)["operations"]})
    assert "panel:reload" in events(undone)
    first.refresh_from_db()
    assert first.status == "pending"


@pytest.mark.spec("U3")
def test_an_edit_is_one_by_hand_and_can_be_undone(own: Client, profile: UserProfile) -> None:
    response = post(own, "profile_section", name="background", text="律师\r\n住在杭州", before="")
    assert read(profile)["background"] == "律师\n住在杭州"
    profile.refresh_from_db()
    assert set(profile.edited_at) == {"background", "reply_style", "宠物"}
    assert own.post(reverse("admin:undo"), {"operations": toast(response)["operations"]}).status_code == 204
    assert "background" not in read(profile)


def test_a_section_without_a_text_goes_and_a_new_one_comes(own: Client, profile: UserProfile) -> None:
    post(own, "profile_section", name="宠物", text="  ", before="猫")
    assert read(profile) == {"reply_style": "像朋友一样"}
    post(own, "profile_section", name="Garden", text="Roses", before="", new="1")
    assert read(profile)["Garden"] == "Roses"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"name": "宠物", "text": "x" * 2001, "before": "猫"}, "A section can have at most 2000 characters."),
        ({"name": "宠物", "text": "狗", "new": "1"}, "A section with this name already exists."),
        (
            {"name": "宠物", "text": "狗", "before": "鸟"},
            "This section was changed in the meantime. Save again to overwrite it with your version.",
        ),
    ],
)
def test_what_cannot_be_written_says_why_and_keeps_what_was_typed(
    own: Client, profile: UserProfile, fields: dict[str, str], problem: str
) -> None:
    page = post(own, "profile_section", **fields)
    assert page.context["editing"].problem.endswith(problem)
    assert page.context["editing"].text == fields["text"].strip()
    assert read(profile) == {"reply_style": "像朋友一样", "宠物": "猫"}


@pytest.mark.spec("U3")
@pytest.mark.parametrize(
    ("fields", "text", "status"),
    [
        ({"decision": "accept"}, "No emoji", "accepted"),
        ({"decision": "accept", "text": "不用表情"}, "不用表情", "accepted"),
        ({"decision": "reject"}, "像朋友一样", "rejected"),
    ],
)
def test_proposals_are_decided_beside_their_section(
    own: Client, profile: UserProfile, fields: dict[str, str], text: str, status: str
) -> None:
    proposal = list_pending_proposals(profile.user).get()
    post(own, "profile_proposal", proposal=proposal.id, **fields)
    proposal.refresh_from_db()
    assert (read(profile)["reply_style"], proposal.status) == (text, status)
    again = post(own, "profile_proposal", proposal=proposal.id, **fields)
    assert toast(again)["error"] is True
    assert [row.pk for row in again.context["decided"]] == [proposal.pk]
    post(own, "profile_proposal", proposal=proposal.id, decision="reopen")
    assert list_pending_proposals(profile.user).get() == proposal


@pytest.mark.spec("U3")
def test_an_earlier_version_is_restored_from_the_timeline(own: Client, profile: UserProfile) -> None:
    update_profile(user=profile.user, changes={"reply_style": "简短"}, now=NOW)
    post(own, "profile_restore", version="1")
    assert read(profile)["reply_style"] == "像朋友一样"
    for odd in ("99", "x", "", "9" * 40):
        assert toast(post(own, "profile_restore", version=odd))["error"] is True


@pytest.mark.spec("M7")
def test_nobody_reads_or_changes_another_persons(own: Client, profile: UserProfile) -> None:
    other = make_profile()
    theirs = list_pending_proposals(other.user).get()
    update_profile(user=other.user, changes={"background": "秘密"}, now=NOW)
    page = own.get(reverse("admin:profile"), {"user": other.user.pk, "edit": "background"})
    assert page.context["owner"] == profile.user
    assert "秘密" not in page.text
    post(own, "profile_section", user=other.user.pk, name="background", text="律师", before="")
    assert toast(post(own, "profile_proposal", user=other.user.pk, proposal=theirs.id, decision="accept"))["error"]
    post(own, "profile_restore", user=other.user.pk, version="1")
    assert (read(other)["background"], read(other)["reply_style"]) == ("秘密", "像朋友一样")


def test_somebody_without_a_profile_can_begin_one(db: None) -> None:
    user = UserFactory()
    browser = browse(user)
    assert "No profile yet" in browser.get(reverse(f"{PROFILE}_changelist")).text
    assert browser.get(reverse("admin:profile")).context["timeline"] == []
    post(browser, "profile_section", name="background", text="律师", before="")
    assert read(UserProfile.objects.get(user=user)) == {"background": "律师"}


@pytest.mark.spec("L6", "R3")
def test_a_deletion_takes_everything_along_and_the_log_holds_no_text(root: User, client: Client) -> None:
    profile, other = make_profile(), make_profile()
    update_profile(user=profile.user, changes={"background": "律师"}, now=NOW)
    response = client.post(reverse(f"{PROFILE}_delete", args=[profile.id]), {"post": "yes"})
    assert response.status_code == 302
    assert get_user_profile(user=profile.user) is None
    assert not ProfileVersion.objects.filter(user=profile.user).exists()
    assert not ProfileProposal.objects.filter(user=profile.user).exists()
    body = {"action": "delete_selected", "_selected_action": [str(other.id)], "post": "yes"}
    assert client.post(reverse(f"{PROFILE}_changelist"), body).status_code == 302
    assert get_user_profile(user=other.user) is None
    log = json.dumps(list(LogEntry.objects.values("object_repr", "change_message")), ensure_ascii=False)
    assert str(profile.id) in log
    assert "律师" not in log
    assert "朋友" not in log
