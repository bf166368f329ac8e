"""Failed logins in the panel: staff see who is locked out; who may change accounts lets them in again (M7)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import LoginAttempt, User
from apps.accounts.services.login_lockout import admit_attempt

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.spec("M7"),
    pytest.mark.long,
]

LIST = "/admin/accounts/loginattempt/"


def fail(username: str, address: str, *, times: int, minutes_ago: int = 0) -> LoginAttempt:
    for _ in range(times):
        admit_attempt(username=username, address=address, now=timezone.now() - timedelta(minutes=minutes_ago))
    return LoginAttempt.objects.get(username=username, ip_address=address)


@pytest.fixture
def keeper(client: Client) -> User:
    """Staff who may change accounts, before the browser."""
    user = User.objects.create_user("keeper", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="change_user"))
    client.force_login(user)
    return user


def test_staff_see_attempts_and_lockouts(client: Client) -> None:
    fail("mei", "198.51.100.7", times=5)
    fail("mei", "203.0.113.5", times=1)
    fail("lin", "2001:db8::", times=4, minutes_ago=60)
    client.force_login(User.objects.create_user("tang", is_staff=True))
    page = client.get(LIST).content.decode()
    for words in ("Locked out", "15 more minutes", "counted", "over", "2001:db8::/64"):
        assert words in page
    assert "Unlock" not in page
    assert [row.username for row in client.get(LIST, {"q": "lin"}).context["cl"].result_list] == ["lin"]
    locked = client.get(LIST, {"state": "locked"}).context["cl"].result_list
    assert [row.ip_address for row in locked] == ["198.51.100.7"]


def test_one_is_unlocked_on_its_page_and_several_by_the_action(client: Client, keeper: User) -> None:
    first, second = (fail(name, "198.51.100.7", times=5) for name in ("mei", "lin"))
    address = reverse("admin:accounts_loginattempt_delete", args=[first.pk])
    assert "Unlock?" in client.get(address).content.decode()
    assert client.post(address, {"post": "yes"}, follow=True).redirect_chain == [(LIST, 302)]
    assert [*LoginAttempt.objects.all()] == [second]
    body = {"action": "unlock_selected", "_selected_action": [second.pk]}
    assert "1 entry was unlocked." in client.post(LIST, body, follow=True).content.decode()
    assert not LoginAttempt.objects.exists()


def test_who_may_not_change_accounts_unlocks_nobody(client: Client) -> None:
    attempt = fail("mei", "198.51.100.7", times=5)
    client.force_login(User.objects.create_user("tang", is_staff=True))
    client.post(reverse("admin:accounts_loginattempt_delete", args=[attempt.pk]), {"post": "yes"})
    client.post(LIST, {"action": "unlock_selected", "_selected_action": [attempt.pk]})
    assert LoginAttempt.objects.exists()
