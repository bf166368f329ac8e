"""What programs are let in with: one's own tokens, shown once, and connected apps (M7)."""

from __future__ import annotations

import shlex
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from oauth2_provider.models import AccessToken, Grant, RefreshToken

from apps.accounts.models import ApiToken, User
from apps.accounts.services.people import create_token, read_jwt_secret
from apps.doors.mcp.oauth import record_connection, register_application
from apps.doors.models import ConnectedApp
from apps.panel.accounts.tokens import list_snippets
from tests.support.factories import UserFactory

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.spec("M7"),
    pytest.mark.long_except(
        "test_a_token_is_shown_once_and_works",
        "test_a_bad_form_makes_nothing",
        "test_one_revokes_ones_own_only",
        "test_disconnecting_ends_its_tokens_and_nobody_elses",
    ),
]

ADD, LIST = "admin:accounts_apitoken_add", "admin:accounts_apitoken_changelist"


def make(client: Client, *, user: User | None = None, **fields: str) -> Any:
    query = {"user": user.pk} if user else {}
    given = {"name": "笔记本", "kind": "personal", "scope": "admin", "days": "", "throttle": "", "jwt_secret": ""}
    return client.post(reverse(ADD, query=query), given | fields)


def test_a_token_is_shown_once_and_works(client: Client, mei: User) -> None:
    page = make(client, days="30")
    token = page.context["token"]
    assert page.content.decode().count(token) >= 2
    assert "no-store" in page["Cache-Control"]
    stored = ApiToken.objects.get()
    assert (stored.user, stored.name, (stored.expiry - timezone.now()).days) == (mei, "笔记本", 29)
    assert (stored.is_service, stored.scopes, stored.throttle) == (False, ["read", "write", "admin"], "")
    answer = Client().get(reverse("settings"), headers={"authorization": f"Bearer {token}"})
    assert answer.status_code == 200
    listed = client.get(reverse(LIST)).content.decode()
    assert "笔记本" in listed
    assert token not in listed
    assert token not in client.get(reverse(ADD)).content.decode()


@pytest.mark.parametrize(
    "fields",
    [
        {"name": ""},
        {"name": "x" * 101},
        {"days": "31"},
        {"scope": ""},
        {"scope": "everything"},
        {"throttle": "60/fortnight"},
    ],
)
def test_a_bad_form_makes_nothing(client: Client, mei: User, fields: dict[str, str]) -> None:
    page = make(client, **fields)
    assert page.status_code == 400
    assert set(page.context["form"].errors) == set(fields)
    assert not ApiToken.objects.exists()


@pytest.mark.spec("T4")
def test_a_service_token_is_made_with_what_it_may_do(client: Client, mei: User) -> None:
    mei.user_permissions.add(Permission.objects.get(codename="add_apitoken"))
    secret = "0123456789abcdef0123456789abcdef"
    page = make(client, kind="service", scope="write", throttle="60/min", jwt_secret=secret)
    stored = ApiToken.objects.get()
    assert (stored.is_service, stored.scopes, stored.throttle) == (True, ["read", "write"], "60/min")
    assert read_jwt_secret(stored) == secret
    shown = [page, client.get(reverse(LIST)), client.get(reverse("admin:accounts_apitoken_change", args=[stored.pk]))]
    for text in (answer.content.decode() for answer in shown):
        assert secret not in text
        assert stored.encrypted_jwt_secret not in text
    assert "X-End-User: mei" in shown[0].content.decode()
    assert "60/min" in shown[2].content.decode()


def test_a_secret_that_is_too_short_is_refused_beside_its_field(client: Client, mei: User) -> None:
    mei.user_permissions.add(Permission.objects.get(codename="add_apitoken"))
    page = make(client, kind="service", jwt_secret="short")
    assert (page.status_code, set(page.context["form"].errors)) == (400, {"jwt_secret"})
    assert "short" not in page.content.decode(), "what was typed is not sent back"
    assert make(client, kind="personal", jwt_secret="short").status_code == 200
    assert not ApiToken.objects.get().encrypted_jwt_secret


@pytest.mark.spec("T4")
def test_who_may_not_make_accounts_makes_no_service_tokens(client: Client, mei: User) -> None:
    form = client.get(reverse(ADD)).context["form"]
    assert not {"kind", "jwt_secret"} & set(form.fields)
    assert make(client, kind="service").status_code == 200
    assert not ApiToken.objects.get().is_service
    create_token(user=mei, is_service=True)  # as the operator does
    assert "kind" in client.get(reverse(ADD)).context["form"].fields
    assert make(client, kind="service", name="second").status_code == 200
    assert ApiToken.objects.get(name="second").is_service


@pytest.mark.parametrize("is_service", [True, False])
def test_what_is_copied_works(client: Client, mei: User, is_service: bool) -> None:
    """The command line as a shell reads it, the program as Python does, the configuration as JSON."""
    token = create_token(user=mei, is_service=is_service)
    made = list_snippets(server="http://testserver", token=token, is_service=is_service)
    texts = {snippet.id: snippet.text for snippet in made}
    _curl, address, *options = shlex.split(texts["curl"].replace("\\\n", ""))
    headers = dict(line.split(": ", 1) for line in options[1::2])
    assert Client().get(address.removeprefix("http://testserver"), headers=headers).status_code == 200
    assert User.objects.filter(service=mei, external_id="mei").exists() == is_service
    compile(texts["openai"], "openai", "exec")
    assert ("user=" in texts["openai"]) == is_service
    assert ("open-webui" in texts) == is_service


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


CONNECTED = "admin:doors_connectedapp_changelist"


def connect(user: User, name: str = "Notebook", *, scopes: tuple[str, ...] = ("read", "write")) -> ConnectedApp:
    """A connection with tokens and a code, as the toolkit stores them."""
    application = register_application(name=name, redirect_uris=["https://app.example/cb", "cursor://x/cb"])
    now = timezone.now()
    record_connection(user=user, application=application, scopes=scopes, now=now)
    held: dict[str, Any] = {"user": user, "application": application}
    access = AccessToken.objects.create(**held, token=f"{user}{name}", expires=now + timedelta(hours=1), scope="read")
    RefreshToken.objects.create(**held, token=f"{user}{name}", access_token=access)
    Grant.objects.create(**held, code=f"{user}{name}", expires=now + timedelta(minutes=1), redirect_uri="x")
    return ConnectedApp.objects.get(user=user, application=application)


def test_what_is_connected_is_shown_with_what_it_may_do_and_since_when(client: Client, mei: User) -> None:
    connect(mei)
    connect(mei, "Reader", scopes=("read",))
    page = client.get(reverse(CONNECTED)).content.decode()
    for text in ("Notebook", "Reader", "Read and change", "Read only", "app.example, cursor:", "just now"):
        assert text in page
    assert "–" in page  # not used yet
    ConnectedApp.objects.update(last_used_at=timezone.now() - timedelta(days=2))
    assert "2 days ago" in client.get(reverse(CONNECTED)).content.decode().replace("\xa0", " ")


def test_disconnecting_ends_its_tokens_and_nobody_elses(client: Client, mei: User) -> None:
    lin = UserFactory.create(username="lin")
    gone, kept, other = connect(mei), connect(mei, "Reader"), connect(lin)
    for connection in (gone, other):
        client.post(reverse("admin:doors_connectedapp_delete", args=[connection.pk]), {"post": "yes"})
    assert set(ConnectedApp.objects.all()) == {kept, other}
    for model in (AccessToken, RefreshToken, Grant):
        assert set(model.objects.values_list("user", "application")) == {
            (mei.pk, kept.application_id), (lin.pk, other.application_id)
        }  # fmt: skip
