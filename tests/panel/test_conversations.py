"""Conversations in the admin site: nothing done there can break what a turn relies on."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import User
from apps.conversations.models import Message, Session
from apps.conversations.services import record_assistant_message
from apps.panel import conversations as conversations_admin
from tests.support.factories import SessionFactory


@pytest.fixture
def client(db: None, client: Client) -> Client:
    client.force_login(User.objects.create_superuser(username="staff"))
    return client


@pytest.fixture
def message(db: None) -> Message:
    session = SessionFactory.create(title="旧")
    return record_assistant_message(user=session.user, session_id=session.id, content="你好", now=timezone.now())


def test_renaming_a_session_overwrites_nothing_that_a_turn_wrote_meanwhile(
    client: Client, message: Message, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = conversations_admin.SessionAdmin.get_object

    def load_then_let_a_turn_pass(*args: Any, **kwargs: Any) -> Any:
        session = loaded(*args, **kwargs)
        record_assistant_message(user=message.user, session_id=session.id, content="再见", now=timezone.now())
        return session

    monkeypatch.setattr(conversations_admin.SessionAdmin, "get_object", load_then_let_a_turn_pass)
    url = reverse("admin:conversations_session_change", args=[message.session_id])
    assert client.post(url, {"title": "新"}).status_code == 302
    session = Session.objects.get()
    assert (session.title, session.last_position) == ("新", 2)


def test_a_session_is_deleted_whole(client: Client, message: Message) -> None:
    url = reverse("admin:conversations_session_delete", args=[message.session_id])
    assert client.post(url, {"post": "yes"}).status_code == 302
    assert (Session.objects.count(), Message.objects.count()) == (0, 0)


def test_selected_sessions_are_deleted_whole(client: Client, message: Message) -> None:
    kept = SessionFactory.create()
    selected = {"action": "delete_selected", "_selected_action": [str(message.session_id)], "post": "yes"}
    assert client.post(reverse("admin:conversations_session_changelist"), selected).status_code == 302
    assert Session.objects.get() == kept
    assert not Message.objects.exists()


def test_an_account_is_deleted_with_its_sessions(client: Client, message: Message) -> None:
    url = reverse("admin:accounts_user_delete", args=[message.user_id])
    assert client.post(url, {"post": "yes"}).status_code == 302
    assert (Session.objects.count(), Message.objects.count()) == (0, 0)


def test_a_message_is_neither_changed_nor_deleted_by_itself(client: Client, message: Message) -> None:
    page = reverse("admin:conversations_message_change", args=[message.id])
    assert client.get(page).status_code == 200
    assert client.post(page, {}).status_code == 403
    delete = reverse("admin:conversations_message_delete", args=[message.id])
    assert client.post(delete, {"post": "yes"}).status_code == 403
    selected = {"action": "delete_selected", "_selected_action": [str(message.id)], "post": "yes"}
    client.post(reverse("admin:conversations_message_changelist"), selected)
    assert Message.objects.get() == message
