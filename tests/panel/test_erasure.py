"""Erasing in the panel (R3): what is held is told, the name is asked for, the receipt is true."""

from __future__ import annotations

import base64
import json
from contextlib import closing
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from apps.accounts.models import ApiToken, User
from apps.accounts.services.erasure import count_rows
from apps.accounts.services.people import create_token
from apps.memory.models import LongTermMemory
from tests.support.factories import LongTermMemoryFactory, UserFactory

PAGE, EXPORT = "admin:erasure", "admin:erasure_export"

# Not in one transaction with the test: an export reads all of it as it was at one moment, in a transaction of its own.
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.spec("R3", "M7"),
    pytest.mark.long_except(
        "test_the_receipt_says_what_was_deleted_and_that_it_is_gone", "test_nobody_erases_or_exports_somebody_else"
    ),
]


@pytest.fixture
def mei(db: None) -> User:
    user = UserFactory.create(username="mei")
    LongTermMemoryFactory.create_batch(3, user=user, value="紫罗兰")
    create_token(user=user)
    return user


@pytest.fixture
def lin(db: None) -> User:
    user = UserFactory.create(username="lin")
    LongTermMemoryFactory.create(user=user, value="向日葵")
    return user


def log_in(client: Client, user: User) -> Client:
    client.force_login(user)
    return client


def counts(context: Any) -> dict[str, int]:
    return {table["title"]: table["count"] for table in context["tables"]}


def test_what_is_held_is_told_before_and_nothing_is_erased_by_looking(client: Client, mei: User, lin: User) -> None:
    response = log_in(client, mei).get(reverse(PAGE), {"confirm": "mei"})
    held = {"long-term memories": 3, "embeddings of long-term memories": 3, "changes": 3, "login sessions": 1}
    assert counts(response.context) == held
    assert LongTermMemory.objects.filter(user=mei).count() == 3


@pytest.mark.parametrize("typed", ["", "Mei", "mei ", "lin", "<script>"])
def test_a_wrong_name_erases_nothing(client: Client, mei: User, lin: User, typed: str) -> None:
    response = log_in(client, mei).post(reverse(PAGE), {"confirm": typed})
    assert response.status_code == 400
    assert "Nothing was erased" in response.content.decode()
    assert "<script>" not in response.content.decode().partition("<main")[2]
    assert LongTermMemory.objects.count() == 4


def test_the_receipt_says_what_was_deleted_and_that_it_is_gone(client: Client, mei: User, lin: User) -> None:
    response = log_in(client, mei).post(reverse(PAGE), {"confirm": "mei"})
    assert response.status_code == 200
    receipt = json.loads(base64.b64decode(response.context["document"].partition(",")[2]))
    assert (receipt["user"], receipt["verified"], receipt["deleted"]["long_term_memory"]) == (mei.pk, True, 3)
    assert response.context["total"] == 10
    assert not any(count_rows(mei).values())
    assert ApiToken.objects.filter(user=mei).count() == 1
    assert LongTermMemory.objects.get().user == lin


def test_nobody_erases_or_exports_somebody_else(client: Client, mei: User, lin: User) -> None:
    log_in(client, lin)
    assert client.post(reverse(PAGE, query={"user": mei.pk}), {"confirm": "mei", "user": mei.pk}).status_code == 404
    exported = b"".join(client.get(reverse(EXPORT), {"user": mei.pk})).decode()
    assert "向日葵" in exported
    assert "紫罗兰" not in exported
    assert LongTermMemory.objects.filter(user=mei).count() == 3


@pytest.mark.parametrize(
    ("own", "others", "status"),
    [
        ([], {}, 403),
        (["change_user", "add_apitoken"], {}, 403),
        (["delete_user"], {"is_superuser": True}, 403),
        (["delete_user"], {"is_staff": True, "codename": "change_setting"}, 403),
        (["delete_user"], {"is_staff": True}, 200),
        (["delete_user", "change_setting"], {"is_staff": True, "codename": "change_setting"}, 200),
        (["delete_user"], {"is_superuser": True, "is_active": False}, 403),
    ],
)
def test_staff_need_a_permission_and_no_less_power(
    client: Client, mei: User, own: list[str], others: dict[str, Any], status: int
) -> None:
    tang = UserFactory.create(username="tang", is_staff=True)
    tang.user_permissions.set(Permission.objects.filter(codename__in=own))
    mei.user_permissions.set(Permission.objects.filter(codename=others.pop("codename", "")))
    User.objects.filter(pk=mei.pk).update(**others or {"is_staff": False})
    log_in(client, tang)
    page, export = reverse(PAGE, query={"user": mei.pk}), reverse(EXPORT, query={"user": mei.pk})
    with closing(client.get(export)) as exported:
        assert (client.get(page).status_code, exported.status_code) == (status, status)
    shown = client.get(reverse("admin:accounts_user_change", args=[mei.pk])).content.decode()
    assert (f"/erasure/?user={mei.pk}" in shown) == (status == 200)
    assert client.post(page, {"confirm": "mei"}).status_code == status
    assert LongTermMemory.objects.filter(user=mei).exists() == (status == 403)
    assert client.get(reverse(PAGE)).status_code == 200  # their own


@pytest.mark.spec("T4")
def test_a_service_erases_and_exports_its_end_users_and_no_others(client: Client, mei: User, lin: User) -> None:
    service, other = UserFactory.create(username="shop"), UserFactory.create(username="clinic")
    User.objects.filter(pk=mei.pk).update(service=service, external_id="customer 1")
    User.objects.filter(pk=lin.pk).update(service=other, external_id="customer 1")
    log_in(client, service)
    page = client.get(reverse(PAGE), {"user": mei.pk})
    assert "Data stored about customer 1" in page.content.decode()
    exported = b"".join(client.get(page.context["export_link"])).decode()
    assert "紫罗兰" in exported
    assert client.post(page.context["address"], {"confirm": "shop"}).status_code == 400
    assert client.post(reverse(PAGE, query={"user": lin.pk}), {"confirm": "customer 1"}).status_code == 404
    assert "向日葵" not in b"".join(client.get(reverse(EXPORT), {"user": lin.pk})).decode()
    assert LongTermMemory.objects.count() == 4
    assert client.post(page.context["address"], {"confirm": "customer 1"}).context["receipt"].verified
    assert [memory.user for memory in LongTermMemory.objects.all()] == [lin]
