"""Deactivating and deleting people in the panel, and passwords, of which no page shows anything."""

from __future__ import annotations

import base64
import json

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from apps.accounts.models import ApiToken, User
from apps.accounts.services.erasure import deactivate, delete_account
from apps.accounts.services.people import create_token
from apps.core.errors import Conflict
from apps.memory.models import LongTermMemory
from tests.panel.conftest import browse
from tests.support.factories import LongTermMemoryFactory, UserFactory

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.spec("R3", "M7"),
    pytest.mark.long,
]


@pytest.fixture
def mei(db: None) -> User:
    user = UserFactory.create(username="mei")
    LongTermMemoryFactory.create_batch(2, user=user, value="紫罗兰")
    create_token(user=user)
    return user


def page_of(user: User, name: str = "change") -> str:
    return reverse(f"admin:accounts_user_{name}", args=[user.pk])


def test_a_person_is_deleted_with_everything_once_the_name_is_typed(client: Client, root: User, mei: User) -> None:
    lin = UserFactory.create(username="lin")
    LongTermMemoryFactory.create(user=lin)
    client.post(page_of(mei), {"username": "mei", "email": "mei@example.org", "is_active": "on"})  # which is logged
    assert page_of(mei, "delete") in client.get(page_of(mei)).content.decode()
    asked = client.get(page_of(mei, "delete"))
    assert {table["title"]: table["count"] for table in asked.context["tables"]}["long-term memories"] == 2
    for typed in ("", "Mei", "lin"):
        assert client.post(page_of(mei, "delete"), {"confirm": typed, "post": "yes"}).status_code == 400
    assert User.objects.get(username="mei").is_active

    answer = client.post(page_of(mei, "delete"), {"confirm": "mei"})
    receipt = json.loads(base64.b64decode(answer.context["document"].partition(",")[2]))
    assert (receipt["user"], receipt["verified"], receipt["deleted"]["long_term_memory"]) == (mei.pk, True, 2)
    assert "The account and its tokens were deleted too." in answer.content.decode()
    assert not User.objects.filter(username="mei").exists()
    assert not ApiToken.objects.exists()
    assert not LogEntry.objects.filter(object_repr="mei").exists()
    assert list(LongTermMemory.objects.values_list("user", flat=True)) == [lin.pk]


def test_a_service_is_deleted_with_its_end_users(client: Client, root: User, mei: User) -> None:
    served = User.objects.create(username="mei:1", service=mei, external_id="customer 1")
    LongTermMemoryFactory.create(user=served)
    assert client.get(page_of(mei, "delete")).context["end_users"] == 1
    answer = client.post(page_of(mei, "delete"), {"confirm": "mei"})
    assert answer.context["receipt"].deleted["long_term_memory"] == 3
    assert list(User.objects.all()) == [root]


def test_what_remained_after_erasing_keeps_the_account(
    client: Client, root: User, mei: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.accounts.services.erasure._clear_cache", lambda user: False)
    answer = client.post(page_of(mei, "delete"), {"confirm": "mei"})
    assert "Some data remained" in answer.content.decode()
    mei.refresh_from_db()
    assert not mei.is_active


def test_nobody_deletes_or_deactivates_themself_or_the_last_superuser(client: Client, root: User, mei: User) -> None:
    assert client.post(page_of(root, "delete"), {"confirm": "root"}).status_code == 403
    client.post(page_of(root, "active"), {"is_active": "no"})
    client.post(reverse("admin:accounts_user_changelist"), {"action": "deactivate", "_selected_action": [root.pk]})
    client.post(page_of(root), {"username": "root"})  # neither active nor a superuser, says the form
    root.refresh_from_db()
    assert (root.is_active, root.is_superuser) == (True, True)
    for refused in (lambda: deactivate(user=root, by=mei), lambda: delete_account(user=root, by=mei)):
        with pytest.raises(Conflict):
            refused()
    other = User.objects.create_superuser(username="other")
    assert client.post(page_of(other, "delete"), {"confirm": "other"}).status_code == 200
    assert not User.objects.filter(username="other").exists()


def test_an_account_is_deactivated_and_activated_on_its_page(client: Client, root: User, mei: User) -> None:
    inside = browse(mei)
    for is_active, status in (("no", 302), ("yes", 200)):
        assert client.post(page_of(mei, "active"), {"is_active": is_active}).status_code == 302
        assert User.objects.get(username="mei").is_active is (is_active == "yes")
        inside.force_login(mei)
        assert inside.get(reverse("admin:index")).status_code == status
    assert client.get(page_of(mei, "active")).status_code == 405
    assert inside.post(page_of(root, "active"), {"is_active": "no"}).status_code == 403


def test_who_may_not_delete_is_offered_nothing(client: Client, mei: User) -> None:
    staff = UserFactory.create(is_staff=True)
    staff.user_permissions.set(Permission.objects.filter(codename__in=["change_user", "view_user"]))
    client.force_login(staff)
    page = client.get(page_of(mei)).content.decode()
    assert page_of(mei, "delete") not in page
    assert page_of(mei, "active") in page
    assert client.post(page_of(mei, "delete"), {"confirm": "mei"}).status_code == 403


@pytest.mark.parametrize("may_change", [True, False])
def test_no_page_shows_anything_of_a_password(client: Client, mei: User, may_change: bool) -> None:
    mei.password = make_password("correct horse 9", hasher="pbkdf2_sha256")  # as it is outside of tests
    mei.save()
    algorithm, _iterations, salt, digest = mei.password.split("$")
    staff = UserFactory.create(is_staff=True)
    if may_change:
        staff.user_permissions.set(Permission.objects.filter(codename="change_user"))
    client.force_login(staff)
    link = reverse("admin:auth_user_password_change", args=[mei.pk])
    page = client.get(page_of(mei)).content.decode()
    assert [word for word in (algorithm, salt, salt[:6], digest[:6]) if word in page] == []
    assert (link in page) is may_change
    mei.set_unusable_password()
    mei.save()
    page = client.get(page_of(mei)).content.decode()
    assert "No password" in page
    assert mei.password not in page
    if may_change:
        client.post(link, {"usable_password": "true", "password1": "blue horse 99", "password2": "blue horse 99"})
        mei.refresh_from_db()
        assert mei.check_password("blue horse 99")
        client.post(page_of(mei), {"username": "mei", "is_active": "on", "email": "mei@example.org"})
        mei.refresh_from_db()
        assert (mei.email, mei.check_password("blue horse 99")) == ("mei@example.org", True)
