"""Atomic memories in the admin site: writes go through the services."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.memory.atomic.services import create_atomic_memory
from apps.memory.models import AtomicEmbedding, AtomicMemory, ForgottenKey
from tests.support.factories import UserFactory

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
MEMORIES = "admin:memory_atomicmemory"


@pytest.fixture
def client(db: None, client: Client) -> Client:
    client.force_login(User.objects.create_superuser(username="staff"))
    return client


@pytest.fixture
def memory(db: None) -> AtomicMemory:
    memory, _created = create_atomic_memory(user=UserFactory.create(), content="用户住在北京。", now=NOW)
    return memory


def form(**fields: Any) -> dict[str, Any]:
    body = {"content": "用户住在上海。", "tags": "家,城市", "timestamp_0": "2026-05-01", "timestamp_1": "12:00:00"}
    return body | fields


def test_lists_and_pages_open(client: Client, memory: AtomicMemory, django_assert_max_num_queries: Any) -> None:
    for number in range(5):
        create_atomic_memory(user=UserFactory.create(), content=f"cup of tea {number}", now=NOW)
    with django_assert_max_num_queries(12):
        assert client.get(reverse(f"{MEMORIES}_changelist")).status_code == 200
    assert client.get(reverse(f"{MEMORIES}_change", args=[memory.pk])).status_code == 200
    response = client.get(reverse(f"{MEMORIES}_changelist"), {"q": "北京"})
    assert [found.content for found in response.context["cl"].result_list] == ["用户住在北京。"]


def test_adding_and_changing_go_through_the_services(client: Client) -> None:
    user = UserFactory.create()
    assert client.post(reverse(f"{MEMORIES}_add"), form(user=user.pk)).status_code == 302
    memory = AtomicMemory.objects.get(user=user)
    assert (memory.content, memory.tags, memory.timestamp) == ("用户住在上海。", ["家", "城市"], NOW)
    before = AtomicEmbedding.objects.get(memory=memory).embedding
    url = reverse(f"{MEMORIES}_change", args=[memory.id])
    assert client.post(url, form(content="The user lives in Paris.")).status_code == 302
    memory.refresh_from_db()
    assert (memory.content, "pari" in memory.terms) == ("The user lives in Paris.", True)
    assert list(AtomicEmbedding.objects.get(memory=memory).embedding) != list(before)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"content": " "}, "content"),
        ({"content": "用户喜欢茶！"}, "content"),
        ({"event_end_0": "2026-05-01", "event_end_1": "12:00"}, "event_end"),
    ],
)
def test_the_form_says_what_is_wrong(client: Client, memory: AtomicMemory, change: dict[str, str], field: str) -> None:
    create_atomic_memory(user=memory.user, content="用户喜欢茶。", now=NOW)
    response = client.post(reverse(f"{MEMORIES}_change", args=[memory.id]), form(**change))
    assert list(response.context["adminform"].form.errors) == [field]
    memory.refresh_from_db()
    assert memory.content == "用户住在北京。"


def test_history_is_read_only(client: Client, memory: AtomicMemory) -> None:
    AtomicMemory.objects.update(status="superseded")
    assert client.post(reverse(f"{MEMORIES}_change", args=[memory.id]), form()).status_code == 403


@pytest.mark.spec("L6")
def test_deleting_goes_through_the_service_and_the_log_keeps_ids_only(client: Client, memory: AtomicMemory) -> None:
    client.post(reverse(f"{MEMORIES}_change", args=[memory.id]), form())
    other, _created = create_atomic_memory(user=UserFactory.create(), content="tea", now=NOW)
    assert client.post(reverse(f"{MEMORIES}_delete", args=[memory.id]), {"post": "yes"}).status_code == 302
    selected = {"action": "delete_selected", "_selected_action": [str(other.id)], "post": "yes"}
    assert client.post(reverse(f"{MEMORIES}_changelist"), selected).status_code == 302
    assert not AtomicMemory.objects.exists()
    assert ForgottenKey.objects.count() == 2
    for entry in LogEntry.objects.all():
        assert entry.object_repr in (str(memory.id), str(other.id))
        assert not any(text in entry.get_change_message() for text in ("北京", "上海", "tea"))
