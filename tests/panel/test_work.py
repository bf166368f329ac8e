"""The queue in the admin site: looked at, replayed by who may, and not deleted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import User
from apps.conversations import queue as sending
from apps.conversations.models import Message, Work
from apps.panel.jobs import explain_error
from tests.support.factories import SessionFactory

LIST = "admin:conversations_work_changelist"

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.spec("M5", "M7"),
    pytest.mark.long_except("test_failed_work_is_shown_with_its_error_and_without_any_text"),
]


@pytest.fixture(autouse=True)
def _no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "send_task", lambda name: None)


@pytest.fixture
def make_work() -> Callable[..., Work]:
    def make(**fields: object) -> Work:
        session = SessionFactory.create()
        message = Message.objects.create(session=session, user=session.user, role="user", content="机密", position=1)
        return Work.objects.create(user=session.user, session=session, message=message, **{"kind": "embed"} | fields)

    return make


def log_in(client: Client) -> Client:
    client.force_login(User.objects.create_user("staff", is_staff=True))
    return client


def replay(client: Client, *rows: Work) -> int:
    data = {"action": "try_again", "_selected_action": [row.pk for row in rows]}
    return client.post(reverse(LIST), data).status_code


def test_failed_work_is_shown_with_its_error_and_without_any_text(client: Client, make_work: Callable[..., Work]):
    row = make_work(state="failed", error="model_unavailable: refused 400")
    other = make_work(kind="extract")
    log_in(client)
    page = client.get(reverse(LIST), {"state__exact": "failed"}).content.decode()
    assert "model_unavailable: refused 400" in page
    assert row.user.username in page
    assert other.user.username not in page.partition("result_list")[2]
    detail = client.get(reverse("admin:conversations_work_change", args=[row.pk])).content.decode()
    assert str(row.message_id) in detail
    assert "机密" not in page + detail


def test_what_failed_is_tried_again_and_what_has_not_is_left(client: Client, make_work: Callable[..., Work]):
    failed = make_work(state="failed", error="ValueError", attempts=5)
    claimed = make_work(claim="a", attempts=1)
    log_in(client)
    assert replay(client, failed, claimed) == 302
    assert Work.objects.filter(pk=failed.pk).values_list("state", "attempts", "error").get() == ("due", 0, "")
    assert Work.objects.get(pk=claimed.pk).claim == "a"
    page = client.get(reverse(LIST)).content.decode()
    assert "1 task was queued again." in page


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("model_unavailable: refused 401", "The model server rejected the API key."),
        ("model_unavailable: unreachable", "could not be reached"),
        ("worker_lost", "The worker was killed each time"),
        ("ValueError", "An unexpected error occurred."),
    ],
)
def test_an_error_says_what_it_means_and_what_to_do(error: str, words: str):
    explained = explain_error(error)
    assert explained is not None
    assert words in explained.meaning
    assert explained.advice


def test_states_and_ages_are_told_in_words(client: Client, make_work: Callable[..., Work]):
    now = timezone.now()
    make_work(created_at=now - timedelta(hours=3), due_at=now + timedelta(minutes=10, seconds=5))
    make_work(state="failed", error="ValueError", attempts=5)
    make_work(claim="a", lease_until=now + timedelta(minutes=1))
    log_in(client)
    page = client.get(reverse(LIST))
    text = page.content.decode().replace("\xa0", " ")
    for words in ("in 10 minutes", "3 hours", "running", "chip--failed"):
        assert words in text
    progress = page.context["progress"]
    assert (progress.left, progress.failed) == (2, 1)
    kind = next(kind for kind in progress.kinds if kind["kind"] == "embed")
    assert (kind["claimed"], kind["due"], kind["failed"]) == (1, 1, 1)


def test_all_that_failed_is_tried_again_ones_own_or_for_staff_everybodys(
    client: Client, make_work: Callable[..., Work]
):
    mine, other = make_work(state="failed"), make_work(state="failed")
    client.force_login(mine.user)
    assert client.get(reverse("admin:work_replay")).status_code == 405
    assert client.post(reverse("admin:work_replay"), {"user": other.user.pk}).status_code == 302
    assert dict(Work.objects.values_list("pk", "state")) == {mine.pk: "due", other.pk: "failed"}
    log_in(client)
    client.post(reverse("admin:work_replay"))
    assert set(Work.objects.values_list("state", flat=True)) == {"due"}
