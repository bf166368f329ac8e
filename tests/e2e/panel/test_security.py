"""Logging in and what belongs to it, in a browser: the pages before, the second factor, sessions, who is locked out."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from apps.accounts.models import LoginSession, User
from apps.accounts.services.credentials import find_two_factor
from apps.accounts.services.login_lockout import admit_attempt
from tests.e2e.conftest import PASSWORD
from tests.e2e.panel.conftest import LOOKS

pytestmark = pytest.mark.spec("M7")

SECURITY = "/admin/security/"


def fill_login(page: Page, password: str) -> None:
    page.locator("#id_username").fill("mei")
    page.locator("#id_password").fill(password)
    page.locator("#id_password").press("Enter")


def test_the_pages_before_one_is_logged_in(
    new_context: Callable[..., BrowserContext],
    inspect: Callable[..., None],
    mei: User,
    settings: Any,
    look: dict[str, Any],
) -> None:
    settings.SENDS_MAIL, settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID = True, "http://127.0.0.1:9", "jiyi"
    settings.OIDC_NAME = "Example"
    settings.LOGIN_FAILURE_LIMIT = 2
    page = new_context(**look).new_page()
    page.goto("/login")
    inspect(page, "login")
    for number in range(2):
        fill_login(page, f"wrong {number}")
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


def test_the_second_factor_is_set_up_and_asked_for(
    open_panel: Callable[..., Page],
    new_context: Callable[..., BrowserContext],
    inspect: Callable[..., None],
    mei: User,
) -> None:
    page = open_panel(mei, SECURITY, language="en-US")
    page.get_by_role("link", name="Set up").click()
    inspect(page, "setup")
    secret = page.locator("#totp-secret").inner_text()

    def make_code(periods: int) -> str:
        # One period more or less is taken, so that what is of now or later outlives a page that takes its time.
        return format_hotp_value(hotp_value(secret, int(time.time()) // 30 + periods))

    page.get_by_label("Code", exact=True).fill(make_code(0))
    page.get_by_label("Current password").fill(PASSWORD)
    page.get_by_role("button", name="Turn on").click()
    expect(page.get_by_role("heading", name="Your recovery codes")).to_be_visible()
    inspect(page, "codes")
    page.get_by_role("link", name="I have kept them").click()
    expect(page.get_by_text("10 recovery codes are left.")).to_be_visible()

    other = new_context(**LOOKS["phone"]).new_page()
    other.goto("/login")
    fill_login(other, PASSWORD)
    other.wait_for_url("**/login/code")
    inspect(other, "code")
    other.locator("#id_code").fill(make_code(1))
    other.locator("#id_code").press("Enter")
    expect(other).to_have_url(re.compile(r"/$"))

    page.get_by_text("Turn off…").click()
    page.locator("#off-proof").fill(PASSWORD)
    page.get_by_role("button", name="Turn off").click()
    expect(page.get_by_text("Two-factor authentication is off.")).to_be_visible()
    assert find_two_factor(mei) is None


@pytest.mark.parametrize("look", ["zh", "en", "phone", "night"], indirect=True)
def test_sessions_are_seen_and_ended(
    open_panel: Callable[..., Page],
    new_context: Callable[..., BrowserContext],
    inspect: Callable[..., None],
    mei: User,
    settings: Any,
    look: dict[str, Any],
) -> None:
    settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID, settings.OIDC_NAME = "http://127.0.0.1:9", "jiyi", "Example"
    other = open_panel(mei, "/admin/")
    page = open_panel(mei, SECURITY, **look)
    expect(page.locator(".sessions__what")).to_have_count(2)
    inspect(page, "page")
    page.locator("#id_old_password").fill("wrong")
    page.locator("#id_new_password1").fill("123")
    page.locator("#id_new_password2").fill("124")
    page.locator("#id_new_password2").press("Enter")
    expect(page.get_by_role("alert").first).to_be_visible()
    inspect(page, "refused")
    page.locator("button[name=others]").click()
    expect(page.locator(".sessions__what")).to_have_count(1)
    other.reload()
    expect(other).to_have_url(re.compile("/login"))
    assert LoginSession.objects.filter(user=mei).count() == 1


def test_staff_see_who_is_locked_out(
    open_panel: Callable[..., Page], inspect: Callable[..., None], look: dict[str, Any], mei: User
) -> None:
    for name, address, times in (("mei", "198.51.100.7", 5), ("nobody", "2001:db8:1:2::", 2)):
        for _ in range(times):
            admit_attempt(username=name, address=address, now=timezone.now())
    page = open_panel(User.objects.create_superuser("root"), "/admin/accounts/loginattempt/", **look)
    expect(page.get_by_text("198.51.100.7")).to_be_visible()
    inspect(page, "list")
    page.locator("a.row-link").first.click()
    inspect(page, "unlock")
    page.locator("form .panel-button--primary").click()
    expect(page).to_have_url(re.compile("loginattempt/$"))
