"""The pages before one is logged in, in a browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, expect

from apps.accounts.models import User
from tests.e2e.panel.conftest import Inspect

pytestmark = pytest.mark.spec("M7")


def test_the_pages_before_one_is_logged_in(
    new_context: Callable[..., BrowserContext], inspect: Inspect, mei: User, settings: Any, look: dict[str, Any]
) -> None:
    settings.SENDS_MAIL, settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID = True, "http://127.0.0.1:9", "jiyi"
    settings.OIDC_NAME = "Example"
    settings.LOGIN_FAILURE_LIMIT = 2
    page = new_context(**look).new_page()
    page.goto("/login")
    inspect(page, "login")
    for number in range(2):
        page.locator("#id_username").fill("mei")
        page.locator("#id_password").fill(f"wrong {number}")
        page.locator("#id_password").press("Enter")
        expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_text(re.compile("15"))
    inspect(page, "locked")
    page.goto("/login/reset")
    inspect(page, "reset")
    page.locator("#id_email").fill("mei@example.org")
    page.locator("#id_email").press("Enter")
    page.wait_for_url("**/login/reset/sent")
    inspect(page, "sent")
    page.goto("/login/reset/MQ/none")
    inspect(page, "void")
    settings.SENDS_MAIL = False
    page.goto("/login/reset")
    inspect(page, "no mail")
