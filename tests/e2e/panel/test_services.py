"""Service tokens and services in a real Chromium: made, looked at, revoked, and an end user's data erased (T4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from apps.accounts.models import ApiToken, User
from apps.accounts.services.people import create_token, get_or_create_end_user
from apps.memory.models import LongTermMemory
from tests.support.factories import LongTermMemoryFactory, SessionFactory
from tests.support.http_server import HttpServer

pytestmark = [pytest.mark.e2e, pytest.mark.spec("M7", "T4")]


@pytest.fixture
def shop(http_server: HttpServer) -> User:
    """A service with three end users, one of whom is called what means harm."""
    shop = User.objects.create_user("shop")
    create_token(user=shop, name="Shop assistant", is_service=True, throttle="600/min")
    for number, name in enumerate(
        ("mei@example.com", "小林", "<script>document.title='pwned'</script>" + "x" * 120), 1
    ):
        user = get_or_create_end_user(service=shop, external_id=name)
        SessionFactory.create(user=user)
        LongTermMemoryFactory.create_batch(number, user=user)
    return shop


def test_a_service_token_is_made_and_explained(
    open_panel: Callable[..., Page], inspect: Callable[..., None], look: dict[str, Any], http_server: HttpServer
) -> None:
    root = User.objects.create_superuser("root")
    page = open_panel(root, "/admin/accounts/apitoken/add/", **look)
    secret = page.locator("#id_jwt_secret")
    expect(secret).to_be_hidden()
    inspect(page, "personal")
    page.locator("[name=name]").fill("Open WebUI")
    page.locator("[name=kind][value=service]").check()
    expect(secret).to_be_visible()
    page.locator("[name=throttle]").fill("600/min")
    secret.fill("too short")
    inspect(page, "service")
    page.locator(".new-token form button").click()
    expect(page.locator(".new-token__problem")).to_be_visible()
    expect(secret).to_be_visible()
    expect(secret).to_have_value("")
    inspect(page, "refused")
    secret.fill("0123456789abcdef0123456789abcdef")
    page.locator(".new-token form button").click()
    expect(page.locator("#token")).to_be_visible()
    expect(page.locator("#curl")).to_contain_text("X-End-User: mei")
    inspect(page, "made")
    assert ApiToken.objects.get(user=root).is_service


def test_a_service_looks_after_its_end_users(
    open_panel: Callable[..., Page], inspect: Callable[..., None], look: dict[str, Any], shop: User
) -> None:
    page = open_panel(shop, "/admin/accounts/enduser/", **look)
    expect(page.locator(".service dd").first).to_have_text("3")
    assert not page.title().endswith("pwned")
    inspect(page, "list")
    page.locator("a[href*='/change/']", has_text="mei@example.com").first.click()
    expect(page.locator(".end-user a")).to_have_count(2)
    inspect(page, "one")
    page.locator(".end-user a[href*='/erasure/?']").click()
    page.locator("#confirm").fill("mei@example.com")
    inspect(page, "erasure")
    page.locator(".erasure__danger form button").click()
    expect(page.locator(".erasure__receipt")).to_be_visible()
    assert not LongTermMemory.objects.filter(user__external_id="mei@example.com").exists()
    assert LongTermMemory.objects.count() == 5
