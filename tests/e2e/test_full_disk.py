"""What a person sees while the server cannot store anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, expect

from apps.accounts.models import User
from tests.e2e.conftest import PASSWORD
from tests.support.full_disk import full_disk


@pytest.mark.parametrize(
    ("options", "title"),
    [
        ({"language": "en-GB"}, "No space left"),
        ({"language": "zh-CN", "size": (390, 844), "dark": True}, "存储空间已满"),
    ],
    ids=["en", "zh"],
)
def test_a_page_says_so_in_the_language_of_the_browser_and_trying_again_helps(
    new_context: Callable[..., BrowserContext], mei: User, options: dict[str, Any], title: str
) -> None:
    page = new_context(**options).new_page()
    page.goto("/login")
    page.locator("#id_username").fill(mei.username)
    page.locator("#id_password").fill(PASSWORD)
    with full_disk("django_session"):
        page.locator("form.fields button").click()
        expect(page.get_by_role("heading", level=1)).to_have_text(title)
    page.locator("a.primary").click()
    expect(page.locator("#id_username")).to_be_visible()
