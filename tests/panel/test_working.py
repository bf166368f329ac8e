"""Working memory in the panel."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.services.people import update_settings
from apps.conversations.sessions import create_session
from apps.memory.models import WorkingMemory
from apps.memory.working import record_form, update_working_memory
from apps.panel.working_memory import MAX_CHILDREN, Node, grow_tree
from tests.panel.conftest import browse, toast
from tests.support.factories import UserFactory

MEMORY = "admin:memory_workingmemory"
HTMX = {"HX-Request": "true"}

pytestmark = [
    pytest.mark.spec("M5"),
    pytest.mark.usefixtures("root"),
    pytest.mark.long_except("test_cards_tell_the_topic_the_variables_the_forms_and_when_it_goes"),
]


def make_memory(user: User | None = None, **variables: Any) -> WorkingMemory:
    """A working memory with a form and variables."""
    user, now = user or UserFactory(), timezone.now()
    session = create_session(user=user, title="旅行", temporary=False)
    record_form(user=user, session_id=session.id, title="偏好", fields={"颜色": "蓝", "同意": True}, now=now)
    changes = {"current_topic": "去大理", "context_variables": {"目的地": "大理", "days": 3, **variables}}
    update_working_memory(user=user, session_id=session.id, changes=changes, now=now)
    return WorkingMemory.objects.get(session=session)


def remove(browser: Client, memory: WorkingMemory, name: str) -> Any:
    return browser.post(reverse(f"{MEMORY}_remove_variable", args=[memory.pk]), {"name": name}, headers=HTMX)


def test_cards_tell_the_topic_the_variables_the_forms_and_when_it_goes(
    client: Client, django_assert_max_num_queries: Any
) -> None:
    memories = [make_memory() for _ in range(4)]
    update_settings(user=memories[0].user, changes={"memory.working_ttl_minutes": 60})
    with django_assert_max_num_queries(12):
        page = client.get(reverse(f"{MEMORY}_changelist"))
    cards = {card["row"].pk: card for card in page.context["cards"]}
    assert len(cards) == 4
    first, other = cards[memories[0].pk], cards[memories[1].pk]
    assert (first["names"], first["forms"], first["expired"]) == (["目的地", "days"], ["偏好"], False)
    assert first["expires_at"] - first["row"].updated_at == timedelta(minutes=60)
    assert other["expires_at"] - other["row"].updated_at == timedelta(minutes=30)


def test_what_idled_too_long_is_told_as_expired(client: Client) -> None:
    memory = make_memory()
    WorkingMemory.objects.update(updated_at=timezone.now() - timedelta(minutes=31))
    (card,) = client.get(reverse(f"{MEMORY}_changelist")).context["cards"]
    assert card["expired"]
    assert "expired" in client.get(reverse(f"{MEMORY}_change", args=[memory.pk])).text


def test_a_page_has_variables_as_a_tree_and_forms_as_forms(client: Client, django_assert_max_num_queries: Any) -> None:
    memory = make_memory(人数={"大人": 2, "孩子": None})
    with django_assert_max_num_queries(12):
        page = client.get(reverse(f"{MEMORY}_change", args=[memory.pk]))
    assert page.context["tree"] == [
        Node("目的地", "text", "大理"),
        Node("days", "number", "3"),
        Node("人数", "group", children=[Node("大人", "number", "2"), Node("孩子", "nothing")]),
    ]
    (form,) = page.context["forms"]
    assert (form.title, form.fields) == ("偏好", [Node("颜色", "text", "蓝"), Node("同意", "truth", "true")])
    assert form.submitted_at is not None
    assert page.context["size"]["most"] == 65_536
    assert "去大理" in page.text


@pytest.mark.parametrize(("name", "left"), [("days", {"目的地", "hitl_偏好"}), ("hitl_偏好", {"目的地", "days"})])
def test_a_variable_or_form_can_be_removed(db: None, name: str, left: set[str]) -> None:
    memory = make_memory()
    page = remove(browse(memory.user), memory, name)
    assert toast(page)["error"] is False
    memory.refresh_from_db()
    assert set(memory.context_variables) == left


def test_nothing_is_removed_from_what_has_expired(db: None) -> None:
    memory = make_memory()
    WorkingMemory.objects.update(updated_at=timezone.now() - timedelta(hours=2))
    page = remove(browse(memory.user), memory, "days")
    assert toast(page)["error"] is True


def test_trees_end_somewhere() -> None:
    (wide,) = grow_tree({"list": list(range(300))})
    assert (len(wide.children), wide.left_out, wide.count) == (MAX_CHILDREN, 100, 300)
    (deep,) = grow_tree({"a": {"b": {"c": {"d": {"e": {"f": 1}}}}}})
    node, names = deep, [deep.name]
    while node.children:
        node = node.children[0]
        names.append(node.name)
    assert (names, node.kind, node.text) == (["a", "b", "c", "d", "e"], "text", "f: 1")
    assert grow_tree({"none": None, "no": "", "list": []}) == [
        Node("none", "nothing"),
        Node("no", "nothing"),
        Node("list", "nothing"),
    ]
