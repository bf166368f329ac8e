"""The timeline in the panel: what replaced what, and what was known on a date."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.conversations.models import Message, Session
from apps.memory.deletion import delete_memories
from apps.memory.entries import create_memory
from apps.memory.kinds import LONG_TERM
from apps.memory.lifecycle import create_atomic_memory
from apps.memory.models import LongTermMemory
from apps.profile.services import update_profile
from tests.support.factories import UserFactory

pytestmark = [
    pytest.mark.usefixtures("user"),
    pytest.mark.spec("L3", "L7", "M7"),
    pytest.mark.long_except("test_a_line_tells_what_replaced_what", "test_others_are_for_staff"),
]

BEGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)


def day(number: int) -> datetime:
    return BEGIN + timedelta(days=number)


@pytest.fixture
def user(mei: User) -> User:
    for number, city in enumerate(["Berlin", "Hamburg", "<b>Munich"]):
        create_memory(user=mei, category="fact", key="home", value=city, now=day(number * 40))
    create_atomic_memory(user=mei, content="Ann likes tea.", now=day(10))
    return mei


def show(client: Client, **query: Any) -> str:
    answer = client.get(reverse("admin:timeline"), query)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def test_a_line_tells_what_replaced_what(client: Client) -> None:
    page = show(client)
    assert re.findall(r'step__text" href="[^"]+"><bdi>([^/]*)</bdi>', page) == [
        "Berlin",
        "Hamburg",
        "&lt;b&gt;Munich",
        "Ann likes tea.",
    ]
    assert re.findall(r"<h2 id=.month-\d+.>([^<]*)", page) == ["May 2026", "March 2026"]
    assert page.count("line__undo") == 1
    assert "March 1, 2026 – April 10, 2026" in page


def test_each_step_leads_to_the_message_it_came_from(client: Client, user: User) -> None:
    session = Session.objects.create(user=user)
    message = Message.objects.create(user=user, session=session, role="user", content="I live in Bern", position=1)
    LongTermMemory.objects.filter(value="Hamburg").update(session=session, message=message)
    address = reverse("admin:conversations_session_change", args=[session.id])
    assert f'href="{address}?at={message.id}#message-{message.id}"' in show(client)


def test_the_last_change_is_undone(client: Client) -> None:
    (operation,) = re.findall(r"operations&quot;: &quot;([0-9a-f-]+)|operations\": \"([0-9a-f-]+)", show(client))
    answer = client.post(reverse("admin:undo"), {"operations": "".join(operation)})
    assert answer.status_code == 204
    assert LongTermMemory.objects.get(status="active").value == "Hamburg"


def test_what_was_known_on_a_date(client: Client, user: User) -> None:
    update_profile(user=user, changes={"background": "A baker."}, now=day(2))
    update_profile(user=user, changes={"background": "A judge."}, now=day(90))
    gone, _action = create_memory(user=user, category="fact", key="secret", value="x", now=day(3))
    delete_memories(LONG_TERM, user=user, ids=[gone.id], now=day(4))
    page = show(client, as_of="2026-03-03")
    assert "Known at the end of March 3, 2026" in page
    assert "A baker." in page
    assert "A judge." not in page
    assert re.findall(r'step__text" href="[^"]+"><bdi>([^/]*)</bdi>', page) == ["Berlin"]
    assert "superseded" in page
    assert "deleted for good" not in page
    assert "1 memory of that time has been deleted for good since" in show(client, as_of="2026-03-04")
    assert "Nothing was known yet." in show(client, as_of="2020-01-01")
    assert "Hamburg" in show(client, as_of="2026-05-01", q="hamburg")


@pytest.mark.parametrize("date", ["yesterday", "2026-02-30", "9999-12-31", "0001-01-01"])
def test_what_is_no_date_is_said_so(client: Client, date: str) -> None:
    page = show(client, as_of=date)
    assert "Enter a date" in page
    assert "Munich" in page


def test_others_are_for_staff(client: Client, user: User) -> None:
    other = UserFactory(username="wang")
    create_memory(user=other, category="fact", key="home", value="Leeds", now=day(1))
    assert "Leeds" not in show(client, user=other.pk)
    assert "choose-person" not in show(client)
    client.force_login(User.objects.create_user("staff", is_staff=True))
    assert "Leeds" in show(client, user=other.pk)
    assert "No user has this username." in show(client, name="nobody")
    answer = client.get(reverse("admin:timeline"), {"name": "wang"})
    assert answer.headers["Location"] == f"{reverse('admin:timeline')}?user={other.pk}"
    assert "Leeds" not in show(client)
