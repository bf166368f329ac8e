"""Webhooks in the panel: one's own, those of services and of everybody, their secret and what became of deliveries."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.spaces import create_space
from apps.webhooks.models import Delivery, Event, Webhook
from apps.webhooks.sending import read_secret
from apps.webhooks.services import MOST_WEBHOOKS, save_webhook
from tests.panel.conftest import browse, read
from tests.support.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.spec("M7")]

LIST = "/admin/webhooks/webhook/"
GIVEN = {"url": "https://assistant.example/hooks", "events": ["memory.changed"], "enabled": "on"}


@pytest.fixture(autouse=True)
def _webhooks_are_on(settings: Any) -> None:
    settings.WEBHOOKS = "public"


def make_hook(user: User | None, url: str = "https://assistant.example/hooks") -> Webhook:
    webhook = Webhook(user=user, url=url, events=list(Event))
    save_webhook(webhook)
    return webhook


def test_the_secret_of_a_new_one_is_shown_once(mei: User, client: Client) -> None:
    space = create_space(user=mei, name="Novel")
    made = client.post(f"{LIST}add/", {**GIVEN, "space": str(space.pk), "user": "1"})
    webhook = Webhook.objects.get()
    assert (webhook.user, webhook.space, webhook.events) == (mei, space, ["memory.changed"])
    assert read_secret(webhook) in made.content.decode()
    pages = read(client, LIST) + read(client, reverse("admin:webhooks_webhook_change", args=[webhook.pk]))
    assert read_secret(webhook) not in pages
    assert webhook.url in pages


@pytest.mark.parametrize("url", ["ftp://a.example", "https://", "https://u:p@a.example", "https://a b", "a.example"])
def test_what_is_no_address_is_refused(mei: User, client: Client, url: str) -> None:
    assert client.post(f"{LIST}add/", {**GIVEN, "url": url}).status_code == 200
    assert not Webhook.objects.exists()


def test_a_space_of_somebody_else_is_refused(mei: User, client: Client) -> None:
    space = create_space(user=UserFactory.create(), name="Novel")
    assert client.post(f"{LIST}add/", {**GIVEN, "space": str(space.pk)}).status_code == 200
    assert not Webhook.objects.exists()


def test_staff_make_them_for_a_service_and_for_everybody(root: User, client: Client) -> None:
    service = UserFactory.create(username="assistant")
    for owner in ("", str(service.pk)):
        assert client.post(f"{LIST}add/", {**GIVEN, "user": owner}).status_code == 200
    assert set(Webhook.objects.values_list("user__username", flat=True)) == {None, "assistant"}
    shown = read(client, LIST)
    assert "everybody" in shown
    assert "assistant" in shown


def test_a_test_event_is_sent_at_once_and_its_page_says_why_it_did_not_arrive(mei: User, client: Client) -> None:
    webhook = make_hook(mei, "http://127.0.0.1:9/")
    told = client.post(reverse("admin:webhooks_webhook_test", args=[webhook.pk]), follow=True).content.decode()
    assert "The test event did not arrive: a private address." in told
    assert "webhook.test" in told
    assert "failing: a private address" in read(client, LIST)


def test_the_secret_is_replaced_and_the_new_one_shown(mei: User, client: Client) -> None:
    webhook, others = make_hook(mei), make_hook(UserFactory.create())
    before = read_secret(webhook)
    shown = client.post(reverse("admin:webhooks_webhook_rotate_secret", args=[webhook.pk])).content.decode()
    webhook.refresh_from_db()
    assert read_secret(webhook) != before
    assert read_secret(webhook) in shown
    assert client.post(reverse("admin:webhooks_webhook_rotate_secret", args=[others.pk])).status_code == 404


def test_with_too_many_the_form_says_so(mei: User, client: Client) -> None:
    for _number in range(MOST_WEBHOOKS):
        make_hook(mei)
    told = client.post(f"{LIST}add/", GIVEN)
    assert "There are 20 webhooks already" in told.content.decode()
    assert Webhook.objects.count() == MOST_WEBHOOKS


def test_deliveries_are_shown_with_what_became_of_them(mei: User, client: Client) -> None:
    webhook, now = make_hook(mei), timezone.now()
    for given in ({"delivered_at": now, "result": "204"}, {"due_at": now, "result": "TimeoutError"}, {"due_at": now}):
        Delivery.objects.create(webhook=webhook, person=mei, event="memory.changed", created_at=now, **given)
    page = read(client, reverse("admin:webhooks_webhook_change", args=[webhook.pk]))
    for words in ("HTTP 204", "no answer in 10 seconds, will be retried", "waiting"):
        assert words in page


def test_where_they_are_off_there_is_no_such_page(mei: User, client: Client, settings: Any) -> None:
    webhook = make_hook(mei)
    assert "Webhooks" in read(client, "/admin/settings/")
    settings.WEBHOOKS = "off"
    assert client.get(LIST).status_code == 403
    assert client.post(reverse("admin:webhooks_webhook_test", args=[webhook.pk])).status_code in (403, 404)
    assert "Webhooks" not in read(client, "/admin/settings/")
    assert browse(mei).get(f"{LIST}add/").status_code == 403
