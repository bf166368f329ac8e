"""What services refuse on pages of Django's admin is told there, instead of an error of the server."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from django.http import HttpRequest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import User
from apps.conversations.models import Session
from apps.core.errors import InvalidInput, NotFound
from apps.panel import conversations as sessions
from apps.panel import summaries
from apps.summaries.models import SessionSummary
from apps.summaries.services import create_session_summary, delete_session_summary
from tests.support.factories import SessionFactory

pytestmark = pytest.mark.long_except("test_a_refused_field_says_why_and_keeps_what_was_typed")

SUMMARY = "admin:summaries_sessionsummary"
SESSION = "admin:conversations_session"


@pytest.fixture
def summary(mei: User) -> SessionSummary:
    session = SessionFactory.create(user=mei, title="旧标题")
    return create_session_summary(
        user=mei, session_id=session.id, title="退租", snippet="用户想退租。", now=timezone.now()
    )


def refuse(error: Exception) -> Callable[..., Any]:
    def service(**_given: Any) -> Any:
        raise error

    return service


def test_a_refused_field_says_why_and_keeps_what_was_typed(
    client: Client, summary: SessionSummary, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = InvalidInput("title: Must not be blank.", fields={"title": ["Must not be blank."]})
    monkeypatch.setattr(summaries, "update_session_summary", refuse(refused))
    page = client.post(reverse(f"{SUMMARY}_change", args=[summary.id]), {"title": "新", "snippet": "用户已退租。"})
    assert page.status_code == 200
    assert page.context["adminform"].form.errors == {"title": ["Must not be blank."]}
    assert "用户已退租。" in page.text
    summary.refresh_from_db()
    assert summary.title == "退租"


def test_a_refusal_of_no_field_stands_above_the_form(
    client: Client, summary: SessionSummary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "rename_session", refuse(InvalidInput("Must not be blank.")))
    page = client.post(reverse(f"{SESSION}_change", args=[summary.session_id]), {"title": "新标题"})
    assert page.status_code == 200
    assert page.context["adminform"].form.non_field_errors() == ["Must not be blank."]
    assert Session.objects.get().title == "旧标题"


@pytest.mark.parametrize(
    ("module", "service", "name"),
    [(summaries, "update_session_summary", SUMMARY), (sessions, "rename_session", SESSION)],
)
def test_what_was_deleted_while_it_was_edited_is_said_to_be_gone(
    client: Client, summary: SessionSummary, monkeypatch: pytest.MonkeyPatch, module: Any, service: str, name: str
) -> None:
    """Somebody deletes it between the reading and the writing."""
    monkeypatch.setattr(module, service, refuse(NotFound("This item does not exist.")))
    row = summary if name == SUMMARY else summary.session
    admin = summaries.SessionSummaryAdmin if name == SUMMARY else sessions.SessionAdmin
    reads = iter([row])
    monkeypatch.setattr(admin, "get_object", lambda *_given, **_named: next(reads, None))
    answer = client.post(reverse(f"{name}_change", args=[row.pk]), {"title": "新", "snippet": "新"}, follow=True)
    assert answer.status_code == 200
    assert "Perhaps it was deleted?" in answer.text


@pytest.mark.parametrize("selected", [False, True], ids=["one", "selected"])
def test_a_refused_deletion_is_told_in_the_list(
    client: Client, summary: SessionSummary, monkeypatch: pytest.MonkeyPatch, selected: bool
) -> None:
    monkeypatch.setattr(summaries, "delete_session_summary", refuse(NotFound("This summary does not exist.")))
    if selected:
        body = {"action": "delete_selected", "_selected_action": [str(summary.pk)], "post": "yes"}
        answer = client.post(reverse(f"{SUMMARY}_changelist"), body, follow=True)
    else:
        answer = client.post(reverse(f"{SUMMARY}_delete", args=[summary.pk]), {"post": "yes"}, follow=True)
    assert [str(message) for message in answer.context["messages"]] == ["This summary does not exist."]
    assert SessionSummary.objects.filter(deleted=False).count() == 1


def test_a_list_that_is_refused_itself_is_shown_without_what_it_was_asked_for(
    client: Client, summary: SessionSummary, monkeypatch: pytest.MonkeyPatch
) -> None:
    def search(admin: Any, request: HttpRequest, queryset: Any, term: str) -> Any:
        if term:
            raise InvalidInput("Must not be blank.")
        return queryset, False

    monkeypatch.setattr(summaries.SessionSummaryAdmin, "get_search_results", search)
    page = client.get(reverse(f"{SUMMARY}_changelist"), {"q": "退租"}, follow=True)
    assert page.redirect_chain == [(reverse(f"{SUMMARY}_changelist"), 302)]
    assert page.status_code == 200


def test_what_is_refused_for_one_selected_row_is_done_with_none(
    client: Client, mei: User, summary: SessionSummary, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = SessionFactory.create(user=mei)
    create_session_summary(user=mei, session_id=other.id, title="搬家", snippet="用户搬家。", now=timezone.now())
    deleted: list[UUID] = []

    def delete_first(*, user: User, summary_id: UUID, now: datetime) -> None:
        if deleted:
            raise NotFound("This summary does not exist.")
        deleted.append(summary_id)
        delete_session_summary(user=user, summary_id=summary_id, now=now)

    monkeypatch.setattr(summaries, "delete_session_summary", delete_first)
    rows = [str(pk) for pk in SessionSummary.objects.values_list("pk", flat=True)]
    body = {"action": "delete_selected", "_selected_action": rows, "post": "yes"}
    answer = client.post(reverse(f"{SUMMARY}_changelist"), body, follow=True)
    assert [str(message) for message in answer.context["messages"]] == ["This summary does not exist."]
    assert len(deleted) == 1
    assert SessionSummary.objects.filter(deleted=False).count() == 2
