"""Shared contexts in the admin site."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.memory.models import ContextEntry, SharedContext
from apps.memory.services import append_entry, create_context
from tests.support.factories import UserFactory

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
CONTEXT = "admin:memory_sharedcontext"


@pytest.fixture
def client(db: None, client: Client) -> Client:
    client.force_login(User.objects.create_superuser(username="staff"))
    return client


def make_context() -> SharedContext:
    user = UserFactory()
    context = create_context(user=user, title="合同纠纷", content="甲方未付款", now=NOW)
    return append_entry(user=user, context_id=context.id, text="乙方已起诉", author="律师", now=NOW)


def test_contexts_can_be_listed_and_opened(client: Client, django_assert_max_num_queries: Any) -> None:
    contexts = [make_context() for _ in range(5)]
    with django_assert_max_num_queries(12):
        assert client.get(reverse(f"{CONTEXT}_changelist")).status_code == 200
    page = client.get(reverse(f"{CONTEXT}_change", args=[contexts[0].pk]))
    assert page.status_code == 200
    for text in ("合同纠纷", "甲方未付款", "乙方已起诉", "律师"):
        assert text in page.text


@pytest.mark.spec("R3")
def test_a_deletion_takes_the_entries_along_and_the_log_holds_no_text(client: Client) -> None:
    one, two = make_context(), make_context()
    assert client.post(reverse(f"{CONTEXT}_delete", args=[one.pk]), {"post": "yes"}).status_code == 302
    body = {"action": "delete_selected", "_selected_action": [str(two.pk)], "post": "yes"}
    assert client.post(reverse(f"{CONTEXT}_changelist"), body).status_code == 302
    assert (SharedContext.objects.count(), ContextEntry.objects.count()) == (0, 0)
    log = json.dumps(list(LogEntry.objects.values("object_repr", "change_message")), ensure_ascii=False)
    assert str(one.pk) in log
    assert "合同" not in log
