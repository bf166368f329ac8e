"""The queue in the admin site: looked at, replayed by who may, and not deleted."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.conversations import work as queue
from apps.conversations.models import Message, Work
from tests.support.factories import SessionFactory

LIST = "admin:conversations_work_changelist"

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "send_task", lambda name: None)


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
    assert "1 piece of work is due again." in page


def test_people_replay_their_own_work_only(client: Client, make_work: Callable[..., Work]):
    mine, other = make_work(state="failed"), make_work(state="failed")
    client.force_login(mine.user)
    replay(client, mine, other)
    assert dict(Work.objects.values_list("pk", "state")) == {mine.pk: "due", other.pk: "failed"}


def test_nobody_adds_changes_or_deletes_work_here(client: Client, make_work: Callable[..., Work]):
    row = make_work()
    client.force_login(User.objects.create_superuser(username="root"))
    change, delete = (reverse(f"admin:conversations_work_{what}", args=[row.pk]) for what in ("change", "delete"))
    assert client.get(reverse("admin:conversations_work_add")).status_code == 403
    assert client.post(change, {"state": "failed"}).status_code == 403
    assert client.post(delete, {"post": "yes"}).status_code == 403
    assert Work.objects.get().state == "due"
