"""Who is told that a letter waits, and until when: on the chat page, in the panel's menu, over REST (D2)."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.accounts.services.people import create_token
from apps.core.errors import NotFound
from apps.tidying.models import Tidying
from apps.tidying.services import find_unseen, mark_seen
from tests.support.factories import UserFactory

pytestmark = pytest.mark.spec("D2")

NOW = timezone.now()


def write(user: User, *, days_ago: int = 0, changes: int = 1, **fields: Any) -> Tidying:
    """A run that is done."""
    at: datetime = NOW - timedelta(days=days_ago)
    operations = [uuid4() for _number in range(changes)]
    given = {"state": Tidying.State.DONE, "operations": operations, "created_at": at, "finished_at": at, **fields}
    return Tidying.objects.create(user=user, **given)


def as_user(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_the_newest_letter_waits_until_it_is_seen_with_those_before_it(user: User, django_assert_num_queries: Any):
    assert find_unseen(user) is None
    old, new = write(user, days_ago=2), write(user, days_ago=1)
    others = write(UserFactory.create())
    with django_assert_num_queries(1):
        assert find_unseen(user) == new
    assert mark_seen(user, old.id, now=NOW).seen_at == NOW
    assert find_unseen(user) == new
    newest = write(user)
    mark_seen(user, newest.id, now=NOW)
    assert find_unseen(user) is None
    later = NOW + timedelta(hours=1)
    assert mark_seen(user, newest.id, now=later).seen_at == NOW
    with pytest.raises(NotFound):
        mark_seen(user, others.id, now=NOW)
    assert Tidying.objects.get(pk=others.pk).seen_at is None


@pytest.mark.parametrize(
    ("fields", "waits"),
    [
        ({"changes": 0}, False),  # by itself, and there was nothing to do
        ({"changes": 0, "by_hand": True}, True),
        ({"changes": 0, "proposals": [uuid4()]}, True),
        ({"state": Tidying.State.WAITING, "changes": 0, "by_hand": True}, False),
        ({"state": Tidying.State.FAILED, "changes": 0, "by_hand": True}, False),
    ],
)
def test_only_what_is_a_letter_waits(user: User, fields: dict[str, Any], waits: bool) -> None:
    run = write(user, **fields)
    assert (find_unseen(user) == run) is waits


def test_a_run_that_is_not_done_is_not_seen(user: User) -> None:
    run = write(user, state=Tidying.State.WAITING, changes=0)
    assert mark_seen(user, run.id, now=NOW).seen_at is None


def test_the_chat_page_has_it(user: User) -> None:
    def read() -> Any:
        found = re.search(r'<script id="page" type="application/json">(.*?)</script>', as_user(user).get("/").text)
        assert found
        return json.loads(found[1])["letter"]

    assert read() is None
    write(UserFactory.create())
    run = write(user, changes=2, proposals=[uuid4()])
    assert read() == {"id": str(run.id), "changes": 3}
    mark_seen(user, run.id, now=NOW)
    assert read() is None


def test_it_is_dismissed_over_rest(user: User) -> None:
    run, client = write(user), APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {create_token(user=user)}")
    assert client.get(f"/memory/tidyings/{run.id}").json()["seen_at"] is None
    assert client.post(f"/memory/tidyings/{run.id}/seen").json()["seen_at"]
    assert client.get("/memory/tidyings").json()["results"][0]["seen_at"]


def test_the_page_of_letters_says_that_it_was_opened_to_its_owner_alone(user: User) -> None:
    run, page = write(user), reverse("admin:tidying")
    address = reverse("admin:tidying_seen", args=[run.id])
    staff = as_user(UserFactory.create(is_staff=True))
    assert address not in staff.get(f"{page}?user={user.pk}").text
    assert staff.post(f"{address}?user={user.pk}").status_code == 404
    assert address in as_user(user).get(page).text
    assert find_unseen(user) == run  # looking alone changes nothing: the page sends this
    assert as_user(user).post(address).status_code == 204
    assert find_unseen(user) is None
    assert address not in as_user(user).get(page).text


def test_the_menu_counts_it_and_its_tab_is_marked(user: User) -> None:
    def look(name: str = "review") -> tuple[list[str], bool]:
        text = as_user(user).get(reverse(f"admin:{name}"), headers={"accept-language": "en"}).text
        link = re.search(r'<a href="/admin/review/".*?</a>', text, re.DOTALL)
        tab = re.search(r'<nav class="place-tabs".*?</nav>', text, re.DOTALL)
        assert link
        return re.findall(r">\s*(\d+\+?)\s*<", link.group()), bool(tab and ">new<" in tab.group())

    assert look() == ([], False)
    run = write(user)
    write(UserFactory.create())
    assert look() == (["1"], True)
    assert look("profile") == (["1"], False)
    assert look("tidying") == ([], False)  # it is before them
    mark_seen(user, run.id, now=NOW)
    assert look() == ([], False)
