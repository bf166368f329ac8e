"""The page of the API's operations: in both colour schemes, on a phone, and used with a token."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, Request, expect

from apps.accounts.models import User
from apps.accounts.services.people import create_token

LIST_SESSIONS = "#operations-Conversations-list_sessions"


def open_docs(context: BrowserContext) -> Page:
    page = context.new_page()
    page.goto("/api/docs")
    expect(page.locator(LIST_SESSIONS)).to_be_visible()
    return page


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_follows_the_colour_scheme_and_asks_no_other_site(
    new_context: Callable[..., BrowserContext], dark: bool
) -> None:
    requests: list[Request] = []
    context = new_context(dark=dark)
    context.on("request", lambda request: requests.append(request))
    page = open_docs(context)
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, background.removeprefix("rgb(").removesuffix(")").split(", ")))
    assert (brightness < 200) == dark
    expect(page.locator(LIST_SESSIONS)).to_contain_text("List sessions")
    expect(page.locator("#operations-tag-Long-term_memory")).to_contain_text("What is known about a person")
    assert {request.url.split("/")[2] for request in requests if request.url.startswith("http")} == {
        page.url.split("/")[2]
    }


def test_an_operation_is_tried_out_with_a_token(new_context: Callable[..., BrowserContext], mei: User) -> None:
    page = open_docs(new_context())
    page.locator(".auth-wrapper .authorize").click()
    form = page.locator(".auth-container").filter(has_text="(http, Bearer)").locator("form")
    form.get_by_role("textbox").fill(create_token(user=mei))
    form.get_by_role("button", name="Apply credentials").click()
    page.get_by_role("button", name="Close").first.click()

    create = page.locator("#operations-Conversations-create_session")
    create.locator(".opblock-summary-control").click()
    create.get_by_role("button", name="Execute").click()
    expect(create.locator(".live-responses-table .response").first).to_contain_text("201")
    expect(create.locator(".live-responses-table")).to_contain_text("Dinner on Friday")
