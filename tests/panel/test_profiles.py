"""The profile in the admin site: everything is there, and writes go through the services."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.profile.models import ProfileProposal, ProfileVersion, UserProfile
from apps.profile.selectors import get_user_profile, list_pending_proposals
from apps.profile.services import propose_sections, update_profile
from apps.profile.types import ProposedSection
from tests.support.factories import UserFactory

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
PROFILE, VERSION, PROPOSAL = (f"admin:profile_{name}" for name in ("userprofile", "profileversion", "profileproposal"))
NO_INLINE = {"versions-TOTAL_FORMS": "0", "versions-INITIAL_FORMS": "0"}


@pytest.fixture
def client(db: None, client: Client) -> Client:
    client.force_login(User.objects.create_superuser(username="staff"))
    return client


def make_profile() -> UserProfile:
    """A profile of one version and with one proposal."""
    user = UserFactory()
    update_profile(user=user, changes={"reply_style": "像朋友一样", "sections": {"宠物": "猫"}}, now=NOW)
    proposal = ProposedSection("reply_style", "No emoji", None, NOW + timedelta(minutes=1))
    propose_sections(user=user, proposals=[proposal], now=NOW)
    return UserProfile.objects.get(user=user)


def form(**fields: Any) -> dict[str, Any]:
    body = {"reply_style": "像朋友一样", "language_habits": "", "background": "", "sections": '{"宠物": "猫"}'}
    return body | NO_INLINE | fields


@pytest.mark.parametrize("model", [UserProfile, ProfileVersion, ProfileProposal])
def test_every_table_can_be_listed_and_opened(
    client: Client, model: type[Any], django_assert_max_num_queries: Any
) -> None:
    for _ in range(5):
        make_profile()
    name = f"admin:profile_{model._meta.model_name}"
    with django_assert_max_num_queries(12):
        assert client.get(reverse(f"{name}_changelist")).status_code == 200
    page = client.get(reverse(f"{name}_change", args=[model.objects.first().pk]))
    assert page.status_code == 200
    assert "像朋友一样" in page.text or model is ProfileProposal


@pytest.mark.spec("U3")
def test_an_edit_is_one_by_hand(client: Client) -> None:
    profile = make_profile()
    url = reverse(f"{PROFILE}_change", args=[profile.id])
    assert client.post(url, form(background="律师", sections="{}")).status_code == 302
    snapshot = get_user_profile(user=profile.user)
    assert snapshot is not None
    assert (snapshot.background, snapshot.sections, snapshot.version) == ("律师", {}, 2)
    profile.refresh_from_db()
    assert set(profile.edited_at) == {"reply_style", "background", "宠物"}
    assert list(ProfileVersion.objects.values_list("version", "by_hand")) == [(2, True), (1, True)]


def test_the_form_says_what_the_service_would_refuse(client: Client) -> None:
    profile = make_profile()
    url = reverse(f"{PROFILE}_change", args=[profile.id])
    for fields, field in (({"background": "x" * 2001}, "background"), ({"sections": '{"a": 1}'}, "sections")):
        response = client.post(url, form(**fields))
        assert response.status_code == 200
        assert list(response.context["adminform"].form.errors) == [field]
    assert ProfileVersion.objects.count() == 1


@pytest.mark.spec("U3")
def test_an_earlier_version_can_be_restored(client: Client) -> None:
    profile, other = make_profile(), make_profile()
    update_profile(user=profile.user, changes={}, now=NOW, replace=True)
    first = ProfileVersion.objects.get(profile=profile, version=1)
    url = reverse(f"{VERSION}_changelist")
    both = [first.pk, ProfileVersion.objects.get(profile=profile, version=2).pk]
    client.post(url, {"action": "restore", "_selected_action": both})
    assert ProfileVersion.objects.filter(profile=profile).count() == 2
    assert client.post(url, {"action": "restore", "_selected_action": [first.pk]}).status_code == 302
    snapshot = get_user_profile(user=profile.user)
    assert snapshot is not None
    assert (snapshot.reply_style, snapshot.version) == ("像朋友一样", 3)
    assert ProfileVersion.objects.filter(profile=other).count() == 1


@pytest.mark.spec("U3")
@pytest.mark.parametrize(("action", "text"), [("accept", "像朋友一样\nNo emoji"), ("reject", "像朋友一样")])
def test_proposals_can_be_decided(client: Client, action: str, text: str) -> None:
    profile = make_profile()
    proposal = list_pending_proposals(profile.user).get()
    body = {"action": action, "_selected_action": [str(proposal.id)]}
    assert client.post(reverse(f"{PROPOSAL}_changelist"), body).status_code == 302
    profile.refresh_from_db()
    proposal.refresh_from_db()
    assert (profile.reply_style, proposal.status) == (text, f"{action}ed")
    again = client.post(reverse(f"{PROPOSAL}_changelist"), body, follow=True)
    assert "Only a pending proposal can be accepted or rejected" in again.text


@pytest.mark.spec("L6", "R3")
def test_a_deletion_takes_everything_along_and_the_log_holds_no_text(client: Client) -> None:
    profile, other = make_profile(), make_profile()
    client.post(reverse(f"{PROFILE}_change", args=[profile.id]), form(background="律师"))
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
