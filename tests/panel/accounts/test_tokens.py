"""Tokens in the panel: one's own are made and revoked, shown once, and nobody makes one for somebody else."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import ApiToken, User
from apps.accounts.services import create_token
from tests.support.factories import UserFactory

ADD, LIST = "admin:accounts_apitoken_add", "admin:accounts_apitoken_changelist"

pytestmark = [pytest.mark.django_db, pytest.mark.spec("M7")]


@pytest.fixture
def mei(client: Client) -> User:
    user = UserFactory.create(username="mei")
    client.force_login(user)
    return user


def make(client: Client, *, user: User | None = None, **fields: str) -> Any:
    query = {"user": user.pk} if user else {}
    return client.post(reverse(ADD, query=query), {"name": "笔记本", "days": ""} | fields)


def test_a_token_is_shown_once_and_works(client: Client, mei: User) -> None:
    page = make(client, days="30")
    token = page.context["token"]
    assert page.content.decode().count(token) >= 2
    assert "no-store" in page["Cache-Control"]
    stored = ApiToken.objects.get()
    assert (stored.user, stored.name, (stored.expiry - timezone.now()).days) == (mei, "笔记本", 29)
    answer = Client().get(reverse("settings"), headers={"authorization": f"Bearer {token}"})
    assert answer.status_code == 200
    listed = client.get(reverse(LIST)).content.decode()
    assert "笔记本" in listed
    assert token not in listed
    assert token not in client.get(reverse(ADD)).content.decode()


@pytest.mark.parametrize("fields", [{"name": ""}, {"name": "x" * 101}, {"days": "31"}])
def test_a_bad_form_makes_nothing(client: Client, mei: User, fields: dict[str, str]) -> None:
    assert make(client, **fields).status_code == 400
    assert not ApiToken.objects.exists()


def test_how_to_use_it_names_this_server_and_what_it_serves(client: Client, mei: User, settings: Any) -> None:
    page = make(client).content.decode()
    assert "curl http://testserver/memory/long-term" in page
    assert "from openai import OpenAI" not in page
    settings.ROOT_URLCONF = "tests.panel.accounts.urls_with_openai"
    assert "from openai import OpenAI" in make(client).content.decode()


def test_one_revokes_ones_own_only(client: Client, mei: User) -> None:
    create_token(user=mei)
    create_token(user=UserFactory.create())
    mine, other = ApiToken.objects.get(user=mei), ApiToken.objects.exclude(user=mei).get()
    for token, status in ((mine, 302), (other, 302)):
        answer = client.post(reverse("admin:accounts_apitoken_delete", args=[token.pk]), {"post": "yes"})
        assert answer.status_code == status
    assert list(ApiToken.objects.all()) == [other]


def test_nobody_makes_a_token_for_somebody_else_without_permission(client: Client, mei: User) -> None:
    lin = UserFactory.create(username="lin")
    make(client, user=lin)
    assert ApiToken.objects.get().user == mei
    staff = UserFactory.create(username="tang", is_staff=True)
    client.force_login(staff)
    assert make(client, user=lin).status_code == 403
    staff.user_permissions.add(Permission.objects.get(codename="add_apitoken"))
    assert make(client, user=lin).status_code == 200
    assert ApiToken.objects.filter(user=lin).count() == 1
    assert make(client, user=User.objects.create_superuser(username="root")).status_code == 403


def test_looking_makes_nothing(client: Client, mei: User) -> None:
    assert client.get(reverse(ADD), {"name": "x", "days": ""}).status_code == 200
    assert not ApiToken.objects.exists()
