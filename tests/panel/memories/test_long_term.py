"""Memory in the admin site: everything is there, and writes go through the services."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.memory.models import ForgottenKey, LongTermMemory, WorkingMemory
from apps.memory.retrieval import retrieve_relevant_memories
from apps.memory.services import record_form
from tests.support.factories import LongTermMemoryFactory, SessionFactory, UserFactory

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
MEMORIES = "admin:memory_longtermmemory"


@pytest.fixture
def client(db: None, client: Client) -> Client:
    client.force_login(User.objects.create_superuser(username="staff"))
    return client


def form(**fields: Any) -> dict[str, Any]:
    body = {"category": "fact", "key": "城市", "value": '"北京"', "confidence": "0.8", "source": "user_stated"}
    return body | fields


def errors(response: Any) -> dict[str, list[str]]:
    assert response.status_code == 200
    return dict(response.context["adminform"].form.errors)


@pytest.mark.parametrize("model", [LongTermMemory, WorkingMemory, ForgottenKey])
def test_every_table_can_be_listed_and_opened(
    client: Client, model: type[Any], django_assert_max_num_queries: Any
) -> None:
    assert admin.site.is_registered(model)
    for _ in range(5):
        session = SessionFactory()
        LongTermMemoryFactory(user=session.user)
        record_form(user=session.user, session_id=session.id, title="a", fields={"b": "c"}, now=NOW)
        ForgottenKey.objects.create(user=session.user, digest="0" * 64, forgotten_at=NOW)
    name = f"admin:memory_{model._meta.model_name}"
    with django_assert_max_num_queries(12):
        assert client.get(reverse(f"{name}_changelist")).status_code == 200
    row = model.objects.first()
    assert client.get(reverse(f"{name}_change", args=[row.pk])).status_code == 200


def test_adding_goes_through_the_service(client: Client) -> None:
    user = UserFactory()
    old = LongTermMemoryFactory(user=user, key="城市", value="上海")
    response = client.post(reverse(f"{MEMORIES}_add"), form(user=user.pk))
    assert response.status_code == 302
    memory = LongTermMemory.objects.get(user=user, status="active")
    assert (memory.value, memory.confidence, memory.source) == ("北京", 0.8, "user_stated")
    old.refresh_from_db()
    assert (old.status, old.superseded_by_id) == ("superseded", memory.id)
    assert [found.candidate.id for found in retrieve_relevant_memories(user=user, message="北京", limit=5)] == [
        memory.id
    ]


def test_changing_goes_through_the_service(client: Client) -> None:
    memory = LongTermMemoryFactory(key="城市", value="上海", category="fact", now=NOW)
    url = reverse(f"{MEMORIES}_change", args=[memory.id])
    assert client.post(url, form(value='["北京", "广州"]')).status_code == 302
    changed = LongTermMemory.objects.get()
    assert (changed.id, changed.value, changed.confidence) == (memory.id, ["北京", "广州"], 0.8)
    assert changed.updated_at > NOW
    (found,) = retrieve_relevant_memories(user=memory.user, message="广州", limit=5)
    assert found.candidate.id == memory.id


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"key": " "}, "key"),
        ({"value": '" "'}, "value"),
        ({"confidence": "1.5"}, "confidence"),
        ({"key": "Taken!"}, "key"),
    ],
)
def test_the_form_says_what_is_wrong(client: Client, change: dict[str, str], field: str) -> None:
    memory = LongTermMemoryFactory(key="城市", value="上海")
    LongTermMemoryFactory(user=memory.user, key="taken")
    response = client.post(reverse(f"{MEMORIES}_change", args=[memory.id]), form(**change))
    assert list(errors(response)) == [field]
    memory.refresh_from_db()
    assert (memory.key, memory.value) == ("城市", "上海")


def test_history_is_read_only(client: Client) -> None:
    old = LongTermMemoryFactory(key="城市", value="上海")
    LongTermMemoryFactory(user=old.user, key="城市", value="北京")
    url = reverse(f"{MEMORIES}_change", args=[old.id])
    assert client.get(url).status_code == 200
    assert client.post(url, form(value='"广州"')).status_code == 403


@pytest.mark.spec("L6")
def test_deleting_goes_through_the_service(client: Client) -> None:
    user, other = UserFactory(), UserFactory()
    for value in ("上海", "北京"):
        LongTermMemoryFactory(user=user, key="城市", value=value)
    theirs = LongTermMemoryFactory(user=other, key="city", value="Berlin")
    active = LongTermMemory.objects.get(user=user, status="active")
    assert client.post(reverse(f"{MEMORIES}_delete", args=[active.id]), {"post": "yes"}).status_code == 302
    assert list(LongTermMemory.objects.all()) == [theirs]
    assert ForgottenKey.objects.filter(user=user).count() == 3
    selected = {"action": "delete_selected", "_selected_action": [str(theirs.id)], "post": "yes"}
    assert client.post(reverse(f"{MEMORIES}_changelist"), selected).status_code == 302
    assert not LongTermMemory.objects.exists()
    assert ForgottenKey.objects.filter(user=other).count() == 2


@pytest.mark.spec("L6")
def test_the_admin_log_keeps_ids_only(client: Client) -> None:
    user = UserFactory()
    client.post(reverse(f"{MEMORIES}_add"), form(user=user.pk))
    memory = LongTermMemory.objects.get()
    client.post(reverse(f"{MEMORIES}_change", args=[memory.id]), form(value='"广州"'))
    client.post(reverse(f"{MEMORIES}_delete", args=[memory.id]), {"post": "yes"})
    entries = LogEntry.objects.order_by("id")
    assert [entry.object_repr for entry in entries] == [str(memory.id)] * 3
    for entry in entries:
        assert not any(text in entry.get_change_message() for text in ("城市", "北京", "广州"))


def test_searching_finds_chinese(client: Client) -> None:
    LongTermMemoryFactory(key="你喜欢的颜色", value="蓝色")
    LongTermMemoryFactory(key="city", value="Berlin")
    response = client.get(reverse(f"{MEMORIES}_changelist"), {"q": "顏色"})
    assert [memory.value for memory in response.context["cl"].result_list] == ["蓝色"]
