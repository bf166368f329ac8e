"""People in the panel: accounts, services and their end users; deactivating, deleting, passwords, failed logins."""

from __future__ import annotations

import base64
import json
from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import ApiToken, LoginAttempt, User
from apps.accounts.services.erasure import deactivate, delete_account
from apps.accounts.services.login_lockout import admit_attempt
from apps.accounts.services.people import create_token, get_or_create_end_user
from apps.conversations.models import Message, Session
from apps.core.errors import Conflict
from apps.memory.models import LongTermMemory, Status
from tests.panel.conftest import browse
from tests.support.factories import LongTermMemoryFactory, UserFactory

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.long_except("test_accounts_are_deactivated_but_not_ones_own_or_a_superusers"),
]

LIST = "admin:accounts_user_changelist"


@pytest.fixture
def staff(client: Client) -> User:
    """Somebody who may look after accounts, and is no superuser."""
    user = UserFactory.create(username="tang", is_staff=True)
    names = ("add_user", "change_user", "delete_user", "view_user")
    user.user_permissions.set(Permission.objects.filter(codename__in=names))
    client.force_login(user)
    return user


def page_of(user: User, name: str = "change") -> str:
    return reverse(f"admin:accounts_user_{name}", args=[user.pk])


@pytest.mark.spec("M7")
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


@pytest.mark.spec("M7")
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


@pytest.mark.spec("M7")
def test_accounts_are_deactivated_but_not_ones_own_or_a_superusers(client: Client, staff: User) -> None:
    mei, root = UserFactory.create(username="mei"), User.objects.create_superuser(username="root")
    chosen = {"action": "deactivate", "_selected_action": [mei.pk, root.pk, staff.pk]}
    client.post(reverse(LIST), chosen)
    assert dict(User.objects.values_list("username", "is_active")) == {"mei": False, "root": True, "tang": True}
    client.post(reverse(LIST), {"action": "activate", "_selected_action": [mei.pk]})
    assert User.objects.get(username="mei").is_active


@pytest.mark.spec("M7")
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
@pytest.mark.spec("M7")
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


@pytest.mark.spec("M7")
def test_an_account_is_added(client: Client, staff: User) -> None:
    form = {
        "username": "lin",
        "usable_password": "true",
        "password1": "correct horse 9",
        "password2": "correct horse 9",
    }
    assert client.post(reverse("admin:accounts_user_add"), form).status_code == 302
    assert User.objects.get(username="lin").check_password("correct horse 9")


END_USERS = "admin:accounts_enduser_changelist"


@pytest.fixture
def shop() -> User:
    return UserFactory.create(username="shop")


def serve(service: User, *names: str) -> list[User]:
    """End users of a service, each with two active memories, a pending one, and a message."""
    made = []
    for name in names:
        user = get_or_create_end_user(service=service, external_id=name)
        LongTermMemoryFactory.create_batch(2, user=user)
        waiting = LongTermMemoryFactory.create(user=user)
        LongTermMemory.objects.filter(pk=waiting.pk).update(status=Status.PENDING)
        session = Session.objects.create(user=user)
        Message.objects.create(session=session, user=user, role="user", content="你好", position=1)
        made.append(user)
    return made


def list_shown(client: Client, **query: str) -> dict[str, tuple[int, int]]:
    """The figures of the end users in the list."""
    rows = client.get(reverse(END_USERS), query).context["cl"].result_list
    return {f"{row.service.username}: {row.external_id}": (row.remembered, row.said) for row in rows}


@pytest.mark.spec("M7", "T4")
def test_a_service_sees_its_own_end_users_and_what_they_hold(client: Client, shop: User) -> None:
    serve(shop, "mei", "lin")
    serve(UserFactory.create(username="clinic"), "mei")
    client.force_login(shop)
    assert list_shown(client) == {"shop: lin": (2, 1), "shop: mei": (2, 1)}
    assert list_shown(client, q="me") == {"shop: mei": (2, 1)}
    (service,) = client.get(reverse(END_USERS)).context["services"]
    assert (service["name"], service["end_users"], service["memories"], service["messages"]) == ("shop", 2, 4, 2)
    assert service["seen"] == Session.objects.filter(user__service=shop).latest("last_active_at").last_active_at
    assert "clinic" not in client.get(reverse(END_USERS)).content.decode()


@pytest.mark.spec("M7", "T4")
def test_staff_see_all_services_and_narrow_the_list_to_one(client: Client, shop: User) -> None:
    clinic = UserFactory.create(username="clinic")
    serve(shop, "mei", "lin")
    serve(clinic, "mei")
    create_token(user=UserFactory.create(username="new"), is_service=True)
    client.force_login(UserFactory.create(is_staff=True))
    services = client.get(reverse(END_USERS)).context["services"]
    assert [(one["name"], one["end_users"], one["tokens"]) for one in services] == [
        ("shop", 2, 0),
        ("clinic", 1, 0),
        ("new", 0, 1),
    ]
    assert set(list_shown(client)) == {"shop: mei", "shop: lin", "clinic: mei"}
    assert set(list_shown(client, service__id__exact=str(clinic.pk))) == {"clinic: mei"}
    assert client.get(services[0]["link"]).status_code == 200


@pytest.fixture
def mei(db: None) -> User:
    user = UserFactory.create(username="mei")
    LongTermMemoryFactory.create_batch(2, user=user, value="紫罗兰")
    create_token(user=user)
    return user


@pytest.mark.spec("R3", "M7")
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


@pytest.mark.spec("R3", "M7")
def test_a_service_is_deleted_with_its_end_users(client: Client, root: User, mei: User) -> None:
    served = User.objects.create(username="mei:1", service=mei, external_id="customer 1")
    LongTermMemoryFactory.create(user=served)
    assert client.get(page_of(mei, "delete")).context["end_users"] == 1
    answer = client.post(page_of(mei, "delete"), {"confirm": "mei"})
    assert answer.context["receipt"].deleted["long_term_memory"] == 3
    assert list(User.objects.all()) == [root]


@pytest.mark.spec("R3", "M7")
def test_what_remained_after_erasing_keeps_the_account(
    client: Client, root: User, mei: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.accounts.services.erasure._clear_cache", lambda user: False)
    answer = client.post(page_of(mei, "delete"), {"confirm": "mei"})
    assert "Some data remained" in answer.content.decode()
    mei.refresh_from_db()
    assert not mei.is_active


@pytest.mark.spec("R3", "M7")
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


@pytest.mark.spec("R3", "M7")
def test_an_account_is_deactivated_and_activated_on_its_page(client: Client, root: User, mei: User) -> None:
    inside = browse(mei)
    for is_active, status in (("no", 302), ("yes", 200)):
        assert client.post(page_of(mei, "active"), {"is_active": is_active}).status_code == 302
        assert User.objects.get(username="mei").is_active is (is_active == "yes")
        inside.force_login(mei)
        assert inside.get(reverse("admin:index")).status_code == status
    assert client.get(page_of(mei, "active")).status_code == 405
    assert inside.post(page_of(root, "active"), {"is_active": "no"}).status_code == 403


@pytest.mark.spec("R3", "M7")
def test_who_may_not_delete_is_offered_nothing(client: Client, mei: User) -> None:
    staff = UserFactory.create(is_staff=True)
    staff.user_permissions.set(Permission.objects.filter(codename__in=["change_user", "view_user"]))
    client.force_login(staff)
    page = client.get(page_of(mei)).content.decode()
    assert page_of(mei, "delete") not in page
    assert page_of(mei, "active") in page
    assert client.post(page_of(mei, "delete"), {"confirm": "mei"}).status_code == 403


@pytest.mark.parametrize("may_change", [True, False])
@pytest.mark.spec("R3", "M7")
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


ATTEMPTS = "/admin/accounts/loginattempt/"


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


@pytest.mark.spec("M7")
def test_staff_see_attempts_and_lockouts(client: Client) -> None:
    fail("mei", "198.51.100.7", times=5)
    fail("mei", "203.0.113.5", times=1)
    fail("lin", "2001:db8::", times=4, minutes_ago=60)
    client.force_login(User.objects.create_user("tang", is_staff=True))
    page = client.get(ATTEMPTS).content.decode()
    for words in ("Locked out", "15 more minutes", "counted", "over", "2001:db8::/64"):
        assert words in page
    assert "Unlock" not in page
    assert [row.username for row in client.get(ATTEMPTS, {"q": "lin"}).context["cl"].result_list] == ["lin"]
    locked = client.get(ATTEMPTS, {"state": "locked"}).context["cl"].result_list
    assert [row.ip_address for row in locked] == ["198.51.100.7"]


@pytest.mark.spec("M7")
def test_one_is_unlocked_on_its_page_and_several_by_the_action(client: Client, keeper: User) -> None:
    first, second = (fail(name, "198.51.100.7", times=5) for name in ("mei", "lin"))
    address = reverse("admin:accounts_loginattempt_delete", args=[first.pk])
    assert "Unlock?" in client.get(address).content.decode()
    assert client.post(address, {"post": "yes"}, follow=True).redirect_chain == [(ATTEMPTS, 302)]
    assert [*LoginAttempt.objects.all()] == [second]
    body = {"action": "unlock_selected", "_selected_action": [second.pk]}
    assert "1 entry was unlocked." in client.post(ATTEMPTS, body, follow=True).content.decode()
    assert not LoginAttempt.objects.exists()


@pytest.mark.spec("M7")
def test_who_may_not_change_accounts_unlocks_nobody(client: Client) -> None:
    attempt = fail("mei", "198.51.100.7", times=5)
    client.force_login(User.objects.create_user("tang", is_staff=True))
    client.post(reverse("admin:accounts_loginattempt_delete", args=[attempt.pk]), {"post": "yes"})
    client.post(ATTEMPTS, {"action": "unlock_selected", "_selected_action": [attempt.pk]})
    assert LoginAttempt.objects.exists()
