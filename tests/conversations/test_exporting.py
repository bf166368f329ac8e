"""One conversation as a file to keep."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.http import FileResponse
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.accounts.services.people import update_settings
from apps.conversations.models import Message, Session
from apps.core.responses import make_safe_name
from tests.support.factories import UserFactory

pytestmark = [
    pytest.mark.spec("R2"),
    pytest.mark.long_except("test_markdown_is_what_was_said", "test_json_is_everything_there_is"),
]

SAID_AT = datetime(2026, 11, 20, 18, 5, tzinfo=UTC)
TEXT = '# no title\n\n- a  \n  <b>x</b> & "y" 你好\u3000'


def say(session: Session, position: int, role: str, content: str, **fields: Any) -> Message:
    return Message.objects.create(
        session=session,
        user=session.user,
        position=position,
        role=role,
        content=content,
        create_time=SAID_AT + timedelta(minutes=position),
        **fields,
    )


@pytest.fixture
def user() -> User:
    return UserFactory(username="li")


@pytest.fixture
def session(user: User) -> Session:
    session = Session.objects.create(user=user, title='行程 / "plan": a?\n.')
    say(session, 1, "user", "Where to?", status="replaced")
    say(session, 2, "user", TEXT, is_collected=True)
    say(session, 3, "assistant", "Leeds.")
    say(session, 4, "summary", "They talked of Leeds.")
    say(session, 5, "user", "And then?", status="failed")
    return session


@pytest.fixture
def client(user: User) -> APIClient:
    client = APIClient()
    client.force_authenticate(user)
    return client


def close(answer: Any) -> None:
    """Close the file alone: closing the response would end the connection to the database, and the test's rows."""
    answer._file.close()


def export(client: Any, session: Session, **query: str) -> tuple[FileResponse, str]:
    answer = client.get(f"/chat/sessions/{session.id}/export", query)
    assert answer.status_code == 200
    text = b"".join(answer.streaming_content).decode()
    close(answer)
    return answer, text


@pytest.mark.django_db
def test_markdown_is_what_was_said(client: APIClient, user: User, session: Session) -> None:
    update_settings(user=user, changes={"memory.timezone": "Asia/Shanghai"})
    answer, text = export(client, session)
    assert answer.headers["Content-Type"] == "text/markdown; charset=utf-8"
    assert text == (
        '# 行程 / "plan": a? .\n\n'
        f"## User · 2026-11-21 02:07+08:00\n\n{TEXT}\n\n"
        "## Assistant · 2026-11-21 02:08+08:00\n\nLeeds.\n\n"
        "## User · 2026-11-21 02:10+08:00\n\nAnd then?\n"
    )
    _answer, again = export(client, session, format="markdown")
    assert again == text


@pytest.mark.django_db
def test_json_is_everything_there_is(client: APIClient, session: Session) -> None:
    answer, text = export(client, session, format="json")
    assert answer.headers["Content-Type"] == "application/json"
    data = json.loads(text)
    assert (data["id"], data["title"]) == (str(session.id), session.title)
    assert [(said["role"], said["content"], said["status"]) for said in data["messages"]] == [
        ("user", TEXT, "complete"),
        ("assistant", "Leeds.", "complete"),
        ("summary", "They talked of Leeds.", "complete"),
        ("user", "And then?", "failed"),
    ]
    assert [said["content"] for said in data["replaced"]] == ["Where to?"]
    assert data["messages"][0]["is_collected"] is True


@pytest.mark.django_db
def test_the_name_of_the_file_is_safe(client: APIClient, session: Session) -> None:
    answer, _text = export(client, session)
    disposition = answer.headers["Content-Disposition"]
    assert disposition.startswith("attachment; filename*=utf-8''" + quote("jiyi-行程 plan a-"))
    assert disposition.endswith(".md")


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("../../etc/passwd", "etc passwd"),
        ("a\u202eb\x00c\r\nd", "a b c d"),
        ("C:\\x|y*z", "C x y z"),
        ("长" * 99, "长" * 60),
        ("...", ""),
    ],
)
def test_names_that_systems_do_not_take(title: str, name: str) -> None:
    assert make_safe_name(title) == name


@pytest.mark.django_db
def test_from_the_panel(session: Session, user: User, client: APIClient) -> None:
    address = reverse("admin:session_export", args=[session.id])
    browser = Client()
    browser.force_login(UserFactory())
    assert browser.get(address).status_code == 404
    browser.force_login(user)
    assert browser.get(address, {"format": "pdf"}).status_code == 404
    assert address in browser.get(reverse("admin:conversations_session_change", args=[session.id])).content.decode()
    answer = browser.get(address, {"format": "json"})
    assert json.loads(b"".join(answer.streaming_content))["title"] == session.title
    close(answer)
    browser.force_login(User.objects.create_user("staff", is_staff=True))
    answer = browser.get(address)
    assert answer.status_code == 200
    close(answer)
