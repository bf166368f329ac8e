"""/webhooks: a person's own are made, changed, tried and deleted; the secret is told twice at most."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.accounts.services.people import create_token
from apps.accounts.spaces import create_space
from apps.webhooks.models import Delivery, Webhook
from apps.webhooks.sending import read_secret, sign
from apps.webhooks.services import MOST_WEBHOOKS, list_webhooks
from tests.support.factories import UserFactory
from tests.webhooks.conftest import Receiver, make_hook

GIVEN = {"url": "https://assistant.example/hooks", "events": ["memory.changed"]}


@pytest.fixture
def client(mei: User) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {create_token(user=mei)}")
    return client


def create(client: APIClient, **changes: Any) -> Any:
    return client.post("/webhooks", {**GIVEN, **changes}, format="json")


def test_one_is_made_and_its_secret_shown_once(mei: User, client: APIClient) -> None:
    space = create_space(user=mei, name="Novel")
    answer = create(client, space=str(space.pk), events=["person.erased", "memory.changed", "person.erased"])
    assert answer.status_code == 201
    made = answer.json()
    webhook = list_webhooks(mei).get()
    assert made.pop("secret") == read_secret(webhook)
    assert made == {
        "id": str(webhook.id),
        "url": GIVEN["url"],
        "events": ["person.erased", "memory.changed"],
        "space": str(space.pk),
        "enabled": True,
        "failing_since": None,
        "last_result": "",
        "created_at": made["created_at"],
    }
    make_hook(UserFactory.create())
    make_hook(None)
    assert client.get("/webhooks").json()["results"] == [made]
    assert client.get(f"/webhooks/{webhook.id}").json() == made


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"url": "ftp://a.example"}, "url"),
        ({"url": "https://u:p@a.example"}, "url"),
        ({"url": "https://a.example/" + "x" * 500}, "url"),
        ({"events": []}, "events"),
        ({"events": ["webhook.test"]}, "events"),
        ({"enabled": "yes"}, "enabled"),
        ({"secret": "whsec_mine"}, "secret"),
        ({"user": None}, "user"),
    ],
)
def test_what_cannot_be_is_refused_with_its_field(client: APIClient, changes: dict[str, Any], field: str) -> None:
    answer = create(client, **changes)
    assert answer.status_code == 400
    assert list(answer.json()["error"]["fields"]) == [field]
    assert not Webhook.objects.exists()


def test_a_space_of_somebody_else_is_not_there(client: APIClient) -> None:
    space = create_space(user=UserFactory.create(), name="Novel")
    assert create(client, space=str(space.pk)).status_code == 404
    assert not Webhook.objects.exists()


def test_a_change_leaves_what_it_does_not_name_and_forgets_failures(mei: User, client: APIClient) -> None:
    now, space = timezone.now(), create_space(user=mei, name="Novel")
    hook = make_hook(mei, space=space, enabled=False)
    Webhook.objects.filter(pk=hook.pk).update(failing_since=now, retry_at=now + timedelta(hours=4))
    path = f"/webhooks/{hook.id}"
    assert client.patch(path, {"enabled": True}, format="json").json()["failing_since"] is None
    assert client.patch(path, {"url": "http://a.example", "space": None}, format="json").status_code == 200
    assert client.patch(path, {"events": []}, format="json").status_code == 400
    kept, secret = Webhook.objects.get(pk=hook.pk), read_secret(hook)
    assert (kept.enabled, kept.url, kept.space, kept.retry_at) == (True, "http://a.example", None, None)
    assert (kept.events, read_secret(kept)) == (hook.events, secret)


def test_a_new_secret_signs_what_is_sent_next(mei: User, client: APIClient, receiver: Receiver) -> None:
    hook = make_hook(mei, receiver.url)
    before, path = read_secret(hook), f"/webhooks/{hook.id}"
    secret = client.post(f"{path}/rotate-secret").json()["secret"]
    assert secret != before
    told = client.post(f"{path}/test").json()
    assert (told["event"], told["result"], told["attempts"], told["due_at"]) == ("webhook.test", "204", 1, None)
    [(headers, body)] = receiver.requests
    assert headers["webhook-id"] == told["id"]
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{body}"
    assert headers["webhook-signature"] == sign(signed, secret=secret)
    assert client.get(path).json()["last_result"] == "204"
    assert client.get(f"{path}/deliveries").json()["results"] == [told]


def test_a_private_address_is_refused_as_everywhere(
    mei: User, client: APIClient, receiver: Receiver, settings: Any
) -> None:
    settings.WEBHOOKS = "public"
    hook = make_hook(mei, receiver.url)
    told = client.post(f"/webhooks/{hook.id}/test").json()
    assert (told["result"], told["delivered_at"]) == ("private", None)
    assert receiver.requests == []


def test_deliveries_are_listed_newest_first_without_what_they_carried(mei: User, client: APIClient) -> None:
    hook, now = make_hook(mei), timezone.now()
    for minutes in range(3):
        created = now - timedelta(minutes=minutes)
        Delivery.objects.create(
            webhook=hook, person=mei, event="memory.changed", data={"user_id": mei.pk}, created_at=created, due_at=now
        )
    page = client.get(f"/webhooks/{hook.id}/deliveries?limit=2").json()
    assert page["count"] == 3
    times = [row["created_at"] for row in page["results"]]
    assert times == sorted(times, reverse=True)
    assert "user_id" not in str(page)


def test_one_is_deleted_with_what_waits_for_it(mei: User, client: APIClient) -> None:
    hook, now = make_hook(mei), timezone.now()
    Delivery.objects.create(webhook=hook, person=mei, event="memory.changed", created_at=now, due_at=now)
    assert client.delete(f"/webhooks/{hook.id}").json() == {"deleted": 1}
    assert not Delivery.objects.exists()
    assert client.get(f"/webhooks/{hook.id}").status_code == 404


def test_an_account_has_so_many(mei: User, client: APIClient) -> None:
    make_hook(None)
    for _number in range(MOST_WEBHOOKS):
        make_hook(mei)
    answer = create(client)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "conflict")
    assert str(MOST_WEBHOOKS) in answer.json()["error"]["message"]


def test_where_they_are_off_none_is_made_or_tried_and_those_there_are_deleted(
    mei: User, client: APIClient, settings: Any
) -> None:
    hook = make_hook(mei)
    settings.WEBHOOKS = "off"
    assert create(client).status_code == 409
    assert client.post(f"/webhooks/{hook.id}/test").status_code == 409
    assert client.get("/webhooks").json()["count"] == 1
    assert client.delete(f"/webhooks/{hook.id}").status_code == 200


def test_a_token_that_only_writes_or_is_bound_makes_none(mei: User, client: APIClient) -> None:
    space = create_space(user=mei, name="Novel")
    for token in (create_token(user=mei, scopes=["read", "write"]), create_token(user=mei, space=space)):
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
        assert create(client).status_code == 403
