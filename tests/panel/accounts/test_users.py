"""Accounts in the panel: figures and links for staff, and privileges that nobody gives themself."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.conversations.models import Session
from tests.support.factories import LongTermMemoryFactory, UserFactory

LIST = "admin:accounts_user_changelist"

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.spec("M7"),
    pytest.mark.long_except("test_accounts_are_deactivated_but_not_ones_own_or_a_superusers"),
]


@pytest.fixture
def staff(client: Client) -> User:
    """Somebody who may look after accounts, and is no superuser."""
    user = UserFactory.create(username="tang", is_staff=True)
    names = ("add_user", "change_user", "delete_user", "view_user")
    user.user_permissions.set(Permission.objects.filter(codename__in=names))
    client.force_login(user)
    return user


def page_of(user: User) -> str:
    return reverse("admin:accounts_user_change", args=[user.pk])


def test_the_list_says_how_much_there_is_of_whom(client: Client, staff: User) -> None:
    mei = UserFactory.create(username="mei")
    LongTermMemoryFactory.create_batch(3, user=mei)
    session = Session.objects.create(user=mei)
    service = UserFactory.create(username="shop")
    User.objects.create(username="shop-1", service=service, external_id="1")
    User.objects.create(username="shop-2", service=service, external_id="2")
    rows = {user.username: user for user in client.get(reverse(LIST)).context["cl"].result_list}
    assert (rows["mei"].remembered, rows["mei"].seen) == (3, session.last_active_at)
    assert (rows["shop"].served, rows["mei"].served) == (2, 0)
    assert rows["tang"].seen is None


def test_a_persons_page_leads_to_everything_of_theirs(client: Client, staff: User) -> None:
    mei = UserFactory.create(username="mei")
    LongTermMemoryFactory.create_batch(2, user=mei)
    links = client.get(page_of(mei)).context["user_links"]
    counts = {title: count for title, _link, count in links["lists"]}
    assert (counts["long-term memories"], counts["changes"], counts["messages"]) == (2, 2, 0)
    for _title, link, _count in links["lists"]:
        assert f"={mei.pk}" in link
        assert client.get(link).status_code == 200
    assert all(f"user={mei.pk}" in link for _title, link, _icon in links["pages"])


def test_accounts_are_deactivated_but_not_ones_own_or_a_superusers(client: Client, staff: User) -> None:
    mei, root = UserFactory.create(username="mei"), User.objects.create_superuser(username="root")
    chosen = {"action": "deactivate", "_selected_action": [mei.pk, root.pk, staff.pk]}
    client.post(reverse(LIST), chosen)
    assert dict(User.objects.values_list("username", "is_active")) == {"mei": False, "root": True, "tang": True}
    client.post(reverse(LIST), {"action": "activate", "_selected_action": [mei.pk]})
    assert User.objects.get(username="mei").is_active


def test_who_is_no_superuser_makes_none(client: Client, staff: User) -> None:
    mei, root = UserFactory.create(username="mei"), User.objects.create_superuser(username="root")
    for user in (mei, staff):
        form = {"username": user.username, "is_active": "on", "is_superuser": "on", "is_staff": "on"}
        assert client.post(page_of(user), form).status_code == 302
    assert list(User.objects.filter(is_superuser=True)) == [root]
    assert not User.objects.get(username="mei").is_staff
    assert client.post(page_of(root), {"username": "boss"}).status_code == 403
    delete = reverse("admin:accounts_user_delete", args=[root.pk])
    assert client.post(delete, {"post": "yes"}).status_code == 403


@pytest.mark.parametrize("is_active", [True, False])
def test_staff_do_not_become_others_with_more_power(client: Client, staff: User, is_active: bool) -> None:
    """With another's password one may all that they may."""
    staff.user_permissions.add(Permission.objects.get(codename="add_apitoken"))
    lu = UserFactory.create(username="lu", is_staff=True, is_active=is_active)
    lu.user_permissions.set(Permission.objects.filter(codename="change_setting"))
    password = reverse("admin:auth_user_password_change", args=[lu.pk])
    form = {"usable_password": "true", "password1": "correct horse 9", "password2": "correct horse 9"}
    assert client.post(password, form).status_code == 403
    assert client.post(page_of(lu), {"username": "lu", "email": "tang@example.org"}).status_code == 403
    assert client.post(reverse("admin:accounts_apitoken_add") + f"?user={lu.pk}", {"name": "mine"}).status_code == 403
    assert client.post(reverse("admin:accounts_user_delete", args=[lu.pk]), {"post": "yes"}).status_code == 403
    client.post(reverse(LIST), {"action": "activate", "_selected_action": [lu.pk]})
    lu.refresh_from_db()
    assert (lu.is_active, lu.email, lu.check_password("correct horse 9")) == (is_active, lu.email, False)
    lu.user_permissions.clear()
    assert client.post(password, form).status_code == 302


def test_an_account_is_added(client: Client, staff: User) -> None:
    form = {
        "username": "lin",
        "usable_password": "true",
        "password1": "correct horse 9",
        "password2": "correct horse 9",
    }
    assert client.post(reverse("admin:accounts_user_add"), form).status_code == 302
    assert User.objects.get(username="lin").check_password("correct horse 9")
