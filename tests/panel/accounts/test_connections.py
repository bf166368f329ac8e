"""Connected apps in the panel: everybody sees and disconnects their own, and with that their tokens end (M7)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from oauth2_provider.models import AccessToken, Grant, RefreshToken

from apps.accounts.models import User
from apps.doors.mcp.oauth import record_connection, register_application
from apps.doors.models import ConnectedApp
from tests.support.factories import UserFactory

LIST = "admin:doors_connectedapp_changelist"

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.spec("M7"),
    pytest.mark.long_except("test_disconnecting_ends_its_tokens_and_nobody_elses"),
]


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
    page = client.get(reverse(LIST)).content.decode()
    for text in ("Notebook", "Reader", "Read and change", "Read only", "app.example, cursor:", "just now"):
        assert text in page
    assert "–" in page  # not used yet
    ConnectedApp.objects.update(last_used_at=timezone.now() - timedelta(days=2))
    assert "2 days ago" in client.get(reverse(LIST)).content.decode().replace("\xa0", " ")


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
