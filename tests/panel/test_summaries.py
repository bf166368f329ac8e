"""Session summaries in the panel; and what services refuse on its pages is told there, instead of a server error."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from django.contrib.admin.models import LogEntry
from django.http import HttpRequest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import User
from apps.conversations.models import Message, Session
from apps.core.errors import InvalidInput, NotFound
from apps.panel import conversations as sessions
from apps.panel import summaries
from apps.summaries.models import SessionSummary
from apps.summaries.services import create_session_summary, delete_session_summary
from tests.support.factories import SessionFactory

pytestmark = pytest.mark.long_except(
    "test_editing_a_summary_marks_it_and_logs_no_text", "test_a_refused_field_says_why_and_keeps_what_was_typed"
)

LIST = "admin:summaries_sessionsummary_changelist"


@pytest.fixture
def summary(db: None) -> SessionSummary:
    session = SessionFactory.create()
    summary = create_session_summary(
        user=session.user, session_id=session.id, title="退租", snippet="用户想退租。", now=timezone.now()
    )
    SessionSummary.objects.update(edited=False)
    return summary


@pytest.mark.usefixtures("root")
def test_editing_a_summary_marks_it_and_logs_no_text(client: Client, summary: SessionSummary) -> None:
    url = reverse("admin:summaries_sessionsummary_change", args=[summary.id])
    assert "用户想退租。" in client.get(url).content.decode()
    assert client.post(url, {"title": "退租", "snippet": "用户已退租。"}).status_code == 302
    summary.refresh_from_db()
    assert (summary.title, summary.snippet, summary.edited) == ("退租", "用户已退租。", True)
    assert "退租" not in str(LogEntry.objects.values().get())


@pytest.mark.parametrize("selected", [False, True], ids=["one", "selected"])
@pytest.mark.usefixtures("root")
def test_a_deleted_summary_is_not_written_again_and_not_shown(
    client: Client, summary: SessionSummary, selected: bool
) -> None:
    if selected:
        action = {"action": "delete_selected", "_selected_action": [str(summary.id)], "post": "yes"}
        assert client.post(reverse(LIST), action).status_code == 302
    else:
        url = reverse("admin:summaries_sessionsummary_delete", args=[summary.id])
        assert client.post(url, {"post": "yes"}).status_code == 302
    kept = SessionSummary.objects.get()
    assert (kept.deleted, kept.title, kept.snippet) == (True, "", "")
    client.get(reverse(LIST))  # which says that it was deleted
    assert str(summary.id) not in client.get(reverse(LIST)).content.decode()


@pytest.mark.usefixtures("root")
def test_what_is_cited_is_marked_and_what_means_harm_is_text(client: Client, summary: SessionSummary) -> None:
    snippet = "<b>依据《民法典》第七百三十条可退租。"
    SessionSummary.objects.update(snippet=snippet)
    page = client.get(reverse(LIST)).content.decode()
    assert '&lt;b&gt;依据<mark class="found">《民法典》第七百三十条</mark>可退租。' in page


@pytest.mark.spec("S4")
@pytest.mark.usefixtures("root")
def test_the_summaries_inside_a_conversation_are_told_with_what_they_cover(
    client: Client, summary: SessionSummary, django_assert_max_num_queries: Any
) -> None:
    for number in range(3):
        inside = record(summary, role="summary", content=f"第{number}段", position=10 * number + 9)
        for position in range(number + 1):
            record(summary, role="user", content="话", position=10 * number + position, summarized_by=inside)
    url = reverse("admin:summaries_sessionsummary_change", args=[summary.id])
    with django_assert_max_num_queries(12):
        parts = client.get(url).context["parts"]
    assert [(message.content, message.covered) for message, _marked in parts] == [
        ("第2段", 3),
        ("第1段", 2),
        ("第0段", 1),
    ]
    assert client.get(reverse(LIST)).context["cards"][0]["inside"] == 3


def record(summary: SessionSummary, **fields: Any) -> Message:
    return Message.objects.create(session=summary.session, user=summary.user, **fields)


SUMMARY = "admin:summaries_sessionsummary"
SESSION = "admin:conversations_session"


@pytest.fixture
def own(mei: User) -> SessionSummary:
    session = SessionFactory.create(user=mei, title="旧标题")
    return create_session_summary(
        user=mei, session_id=session.id, title="退租", snippet="用户想退租。", now=timezone.now()
    )


def refuse(error: Exception) -> Callable[..., Any]:
    def service(**_given: Any) -> Any:
        raise error

    return service


def test_a_refused_field_says_why_and_keeps_what_was_typed(
    client: Client, own: SessionSummary, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = InvalidInput("title: Must not be blank.", fields={"title": ["Must not be blank."]})
    monkeypatch.setattr(summaries, "update_session_summary", refuse(refused))
    page = client.post(reverse(f"{SUMMARY}_change", args=[own.id]), {"title": "新", "snippet": "用户已退租。"})
    assert page.status_code == 200
    assert page.context["adminform"].form.errors == {"title": ["Must not be blank."]}
    assert "用户已退租。" in page.text
    own.refresh_from_db()
    assert own.title == "退租"


def test_a_refusal_of_no_field_stands_above_the_form(
    client: Client, own: SessionSummary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "rename_session", refuse(InvalidInput("Must not be blank.")))
    page = client.post(reverse(f"{SESSION}_change", args=[own.session_id]), {"title": "新标题"})
    assert page.status_code == 200
    assert page.context["adminform"].form.non_field_errors() == ["Must not be blank."]
    assert Session.objects.get().title == "旧标题"


@pytest.mark.parametrize(
    ("module", "service", "name"),
    [(summaries, "update_session_summary", SUMMARY), (sessions, "rename_session", SESSION)],
)
def test_what_was_deleted_while_it_was_edited_is_said_to_be_gone(
    client: Client, own: SessionSummary, monkeypatch: pytest.MonkeyPatch, module: Any, service: str, name: str
) -> None:
    """Somebody deletes it between the reading and the writing."""
    monkeypatch.setattr(module, service, refuse(NotFound("This item does not exist.")))
    row = own if name == SUMMARY else own.session
    admin = summaries.SessionSummaryAdmin if name == SUMMARY else sessions.SessionAdmin
    reads = iter([row])
    monkeypatch.setattr(admin, "get_object", lambda *_given, **_named: next(reads, None))
    answer = client.post(reverse(f"{name}_change", args=[row.pk]), {"title": "新", "snippet": "新"}, follow=True)
    assert answer.status_code == 200
    assert "Perhaps it was deleted?" in answer.text


@pytest.mark.parametrize("selected", [False, True], ids=["one", "selected"])
def test_a_refused_deletion_is_told_in_the_list(
    client: Client, own: SessionSummary, monkeypatch: pytest.MonkeyPatch, selected: bool
) -> None:
    monkeypatch.setattr(summaries, "delete_session_summary", refuse(NotFound("This summary does not exist.")))
    if selected:
        body = {"action": "delete_selected", "_selected_action": [str(own.pk)], "post": "yes"}
        answer = client.post(reverse(f"{SUMMARY}_changelist"), body, follow=True)
    else:
        answer = client.post(reverse(f"{SUMMARY}_delete", args=[own.pk]), {"post": "yes"}, follow=True)
    assert [str(message) for message in answer.context["messages"]] == ["This summary does not exist."]
    assert SessionSummary.objects.filter(deleted=False).count() == 1


def test_a_list_that_is_refused_itself_is_shown_without_what_it_was_asked_for(
    client: Client, own: SessionSummary, monkeypatch: pytest.MonkeyPatch
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
    client: Client, mei: User, own: SessionSummary, monkeypatch: pytest.MonkeyPatch
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
