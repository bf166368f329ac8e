"""Webhooks in a browser: one is added, its secret shown once, a test event sent, and what became of it is read."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.accounts.spaces import create_space
from apps.webhooks.models import Delivery, Webhook
from tests.e2e.panel.conftest import Inspect, OpenPanel

pytestmark = pytest.mark.spec("M7")

HOOK = "http://127.0.0.1:9/a-rather-long-address-of-an-assistant/that-is-told-of-what-changes"


@pytest.mark.parametrize("look", ["zh", "dark", "phone", "night"], indirect=True)
def test_one_is_added_tested_and_looked_at(
    open_panel: OpenPanel, inspect: Inspect, mei: User, settings: Any, look: dict[str, Any]
) -> None:
    settings.WEBHOOKS = "public"
    create_space(user=mei, name="Novel")
    page = open_panel(mei, "/admin/webhooks/webhook/add/", **look)
    inspect(page, "add")
    page.locator("[name=url]").fill(HOOK)
    page.locator("[name=events]").first.check()
    page.locator("[name=_save]").click()
    expect(page.locator("#secret")).to_contain_text("whsec_")
    inspect(page, "secret")
    webhook, now = Webhook.objects.get(), timezone.now()
    assert webhook.events == ["memory.changed"]
    for given in ({"delivered_at": now, "result": "204"}, {"due_at": now, "result": "ConnectError"}, {"due_at": now}):
        made_at = now - timedelta(hours=1)
        Delivery.objects.create(
            webhook=webhook, person=mei, event="memory.changed", created_at=made_at, attempts=1, **given
        )
    page.locator(".new-token__next a").click()
    page.locator("form[action$='/test/'] button").click()
    expect(page.get_by_text("webhook.test")).to_be_visible()
    inspect(page, "deliveries")
    before = webhook.encrypted_secret
    page.locator("form[action$='/rotate-secret/'] button").click()
    expect(page.locator("#secret")).to_contain_text("whsec_")
    inspect(page, "replaced")
    webhook.refresh_from_db()
    assert webhook.encrypted_secret != before
    page.goto("/admin/webhooks/webhook/")
    expect(page.locator("#changelist .chip--red")).to_be_visible()
    inspect(page, "list")
