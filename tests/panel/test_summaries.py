"""Session summaries in the admin site: writes go through the services, and what was deleted is not shown."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.conversations.models import Message
from apps.summaries.models import SessionSummary
from apps.summaries.services import create_session_summary
from tests.support.factories import SessionFactory

pytestmark = [
    pytest.mark.usefixtures("root"),
    pytest.mark.long_except("test_editing_a_summary_marks_it_and_logs_no_text"),
]

LIST = "admin:summaries_sessionsummary_changelist"


@pytest.fixture
def summary(db: None) -> SessionSummary:
    session = SessionFactory.create()
    summary = create_session_summary(
        user=session.user, session_id=session.id, title="退租", snippet="用户想退租。", now=timezone.now()
    )
    SessionSummary.objects.update(edited=False)
    return summary


def test_editing_a_summary_marks_it_and_logs_no_text(client: Client, summary: SessionSummary) -> None:
    url = reverse("admin:summaries_sessionsummary_change", args=[summary.id])
    assert "用户想退租。" in client.get(url).content.decode()
    assert client.post(url, {"title": "退租", "snippet": "用户已退租。"}).status_code == 302
    summary.refresh_from_db()
    assert (summary.title, summary.snippet, summary.edited) == ("退租", "用户已退租。", True)
    assert "退租" not in str(LogEntry.objects.values().get())


@pytest.mark.parametrize("selected", [False, True], ids=["one", "selected"])
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


def test_what_is_cited_is_marked_and_what_means_harm_is_text(client: Client, summary: SessionSummary) -> None:
    snippet = "<b>依据《民法典》第七百三十条可退租。"
    SessionSummary.objects.update(snippet=snippet)
    page = client.get(reverse(LIST)).content.decode()
    assert '&lt;b&gt;依据<mark class="found">《民法典》第七百三十条</mark>可退租。' in page


@pytest.mark.spec("S4")
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
