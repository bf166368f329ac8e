"""Shared contexts in the panel: cards, a timeline of entries, adding to one, making one, deleting one."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from apps.memory.contexts import append_entry, create_context
from apps.memory.models import ContextEntry, SharedContext
from apps.panel.contexts import ENTRIES, Size
from tests.panel.conftest import browse, toast
from tests.support.factories import UserFactory

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
CONTEXT = "admin:memory_sharedcontext"
HTMX = {"HX-Request": "true"}

pytestmark = [
    pytest.mark.spec("M5"),
    pytest.mark.usefixtures("root"),
    pytest.mark.long_except("test_contexts_can_be_listed_and_opened"),
]


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
