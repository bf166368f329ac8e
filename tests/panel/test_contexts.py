"""Working memory and shared contexts in the panel: cards, pages, what is added and what is taken away."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.services.people import update_settings
from apps.conversations.sessions import create_session
from apps.memory.contexts import append_entry, create_context
from apps.memory.models import ContextEntry, SharedContext, WorkingMemory
from apps.memory.working import record_form, update_working_memory
from apps.panel.contexts import ENTRIES, Size
from apps.panel.working_memory import MAX_CHILDREN, Node, grow_tree
from tests.panel.conftest import browse, toast
from tests.support.factories import UserFactory

pytestmark = [
    pytest.mark.spec("M5"),
    pytest.mark.usefixtures("root"),
    pytest.mark.long_except(
        "test_cards_tell_the_topic_the_variables_the_forms_and_when_it_goes", "test_contexts_can_be_listed_and_opened"
    ),
]

MEMORY = "admin:memory_workingmemory"
HTMX = {"HX-Request": "true"}


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


NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
CONTEXT = "admin:memory_sharedcontext"


def make_context(**fields: Any) -> SharedContext:
    user = fields.pop("user", None) or UserFactory()
    context = create_context(user=user, title="合同纠纷", content=fields.pop("content", "甲方未付款"), now=NOW)
    return append_entry(user=user, context_id=context.id, text="乙方已起诉", author="律师", now=NOW)


def add(browser: Client, context: SharedContext, **fields: str) -> Any:
    return browser.post(reverse(f"{CONTEXT}_add_entry", args=[context.pk]), fields, headers=HTMX)


def test_contexts_can_be_listed_and_opened(client: Client, django_assert_max_num_queries: Any) -> None:
    contexts = [make_context() for _ in range(5)]
    with django_assert_max_num_queries(12):
        page = client.get(reverse(f"{CONTEXT}_changelist"))
    assert len(page.context["cards"]) == 5
    card = page.context["cards"][0]
    assert (card["start"], card["entries"], card["size"]) == ("甲方未付款", 1, Size(30))
    with django_assert_max_num_queries(12):
        page = client.get(reverse(f"{CONTEXT}_change", args=[contexts[0].pk]))
    for text in ("合同纠纷", "甲方未付款", "乙方已起诉", "律师", str(contexts[0].pk)):
        assert text in page.text
    assert page.context["size"] == Size(30)


@pytest.mark.spec("X3")
def test_an_entry_is_added_under_a_name(client: Client) -> None:
    context = make_context()
    page = add(client, context, text=" 法院已受理 ", author="agent")
    assert toast(page)["error"] is False
    assert [(entry.author, entry.text) for entry in page.context["entries"]] == [
        ("律师", "乙方已起诉"),
        ("agent", "法院已受理"),
    ]
    url = reverse(f"{CONTEXT}_add_entry", args=[context.pk])
    answer = client.post(url, {"text": "without a script"})
    assert answer["Location"] == reverse(f"{CONTEXT}_change", args=[context.pk])
    assert ContextEntry.objects.filter(context=context).count() == 3


def test_what_cannot_be_added_says_why_and_keeps_what_was_typed(client: Client) -> None:
    context, author = make_context(), "a" * 101
    page = add(client, context, text="x", author=author)
    assert page.context["problem"] == "Must have at most 100 characters."
    assert page.context["typed"] == {"text": "x", "author": author}
    assert "HX-Trigger" not in page.headers
    assert ContextEntry.objects.filter(context=context).count() == 1


def test_of_many_entries_the_newest_are_shown(client: Client, django_assert_max_num_queries: Any) -> None:
    context = make_context()
    rows = [
        ContextEntry(context=context, user=context.user, text=f"第{number}条", position=number)
        for number in range(2, 152)
    ]
    ContextEntry.objects.bulk_create(rows)
    with django_assert_max_num_queries(12):
        page = client.get(reverse(f"{CONTEXT}_change", args=[context.pk]))
    assert [entry.position for entry in page.context["entries"]] == list(range(52, 152))
    assert (page.context["earlier"], ENTRIES) == (51, 100)


@pytest.mark.spec("X1")
def test_a_context_is_made_for_oneself_and_by_staff_for_others(client: Client) -> None:
    user = UserFactory()
    browser = browse(user)
    url = reverse(f"{CONTEXT}_add")
    assert browser.get(url).status_code == 200
    assert browser.post(url, {"title": "租赁", "content": "押金未退"}).status_code == 302
    for odd in ({"title": "t" * 201, "content": "x"}, {"title": "t", "content": "长" * 22_000}):
        assert browser.post(url, odd).context["errors"]
    assert client.post(url, {"user": user.pk, "title": "Lease", "content": "The deposit"}).status_code == 302
    made = SharedContext.objects.order_by("created_at").values_list("user", "title", "content")
    assert list(made) == [(user.pk, "租赁", "押金未退"), (user.pk, "Lease", "The deposit")]


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
