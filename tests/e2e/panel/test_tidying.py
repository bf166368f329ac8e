"""What was tidied up, as its owner meets it: asked for, read, undone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.core.db import release_connections
from apps.memory.models import AtomicMemory, Status
from apps.tidying.run import claim_run, do_run
from apps.tidying.services import find_unseen, request_tidying
from tests.e2e.panel.conftest import LOOKS, Inspect, OpenPanel
from tests.support.processes import wait_until
from tests.tidying.world import CapableModel, make_world, remember

pytestmark = [pytest.mark.e2e, pytest.mark.spec("D2")]


COME_BACK_LATER = """() => {
    const now = Date.now;
    Date.now = () => now() + 11 * 60 * 1000;
    document.dispatchEvent(new Event("visibilitychange"));
}"""


@pytest.fixture
def mel(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> User:
    """Somebody with 40 memories that want tidying, and a model connected."""
    user, now = User.objects.create_user("mel"), timezone.now()
    world = make_world(now=now, share=0.2)
    remember(user, world, now=now)
    monkeypatch.setattr("apps.core.llm.client.get_chat_model", lambda: CapableModel(world))
    return user


def work() -> None:
    """Do what a worker does, in a thread: this one has the browser's event loop."""

    def do() -> None:
        try:
            run = claim_run(token="worker", now=timezone.now())
            assert run is not None
            do_run(run, token="worker")
        finally:
            release_connections()

    with ThreadPoolExecutor(1) as worker:
        worker.submit(do).result()


def count_active(user: User) -> int:
    return AtomicMemory.objects.filter(user=user, status=Status.ACTIVE).count()


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_the_page_in_every_look(mel: User, open_panel: OpenPanel, inspect: Inspect, look: dict[str, Any]) -> None:
    page = open_panel(mel, "/admin/tidying/", **look)
    inspect(page, "empty")
    page.locator(".tidying__now button").click()
    expect(page.locator(".tidying__waiting")).to_be_visible()
    inspect(page, "waiting")
    work()
    expect(page.locator(".change").first).to_be_visible()
    page.locator(".told summary").first.click()
    inspect(page, "letter")


def test_one_change_is_undone_and_then_all(mel: User, open_panel: OpenPanel) -> None:
    before = count_active(mel)
    page = open_panel(mel, "/admin/tidying/", **LOOKS["en"])
    page.get_by_role("button", name="Tidy up now").click()
    expect(page.get_by_role("status").filter(has_text="Waiting for a worker")).to_be_visible()
    work()
    letter = page.get_by_role("article", name="What I tidied up")
    expect(letter).to_be_visible()
    assert count_active(mel) < before
    twice = letter.locator(".change", has_text="said twice").first
    ended = twice.locator("del").count()
    after = count_active(mel)
    twice.get_by_role("button", name="Undo").click()
    expect(twice.get_by_text("undone", exact=True)).to_be_visible()
    assert count_active(mel) == after + ended
    page.on("dialog", lambda dialog: dialog.accept())
    letter.get_by_role("button", name="Undo all").click()
    expect(letter.get_by_role("button", name="Undo all")).to_be_hidden()
    assert count_active(mel) == before
    page.reload()
    expect(letter.locator(".change:not(:has-text('undone'))")).to_have_count(0)


@pytest.mark.parametrize("look", ["en", "dark", "phone"], indirect=True)
def test_the_chat_page_tells_of_a_letter_until_it_is_read_or_dismissed(
    mel: User, open_panel: OpenPanel, inspect: Inspect, look: dict[str, Any]
) -> None:
    request_tidying(mel, now=timezone.now(), by_hand=False)
    work()
    page = open_panel(mel, "/admin/review/", **look)
    expect(page.locator(".place-tabs .chip")).to_be_visible()
    inspect(page, "review")
    page.goto("/")
    notice = page.locator("#letter-notice")
    expect(notice).to_contain_text("我整理了记忆" if look["language"] == "zh-CN" else "I tidied up your memories")
    inspect(page, "told")
    page.locator("#letter-link").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#letter-title")).to_be_visible()
    wait_until(lambda: find_unseen(mel) is None)
    page.goto("/")
    expect(page.locator("#composer")).to_be_visible()
    expect(notice).to_be_hidden()

    # Another one is dismissed, without the mouse.
    request_tidying(mel, now=timezone.now())
    work()
    page.reload()
    expect(notice).to_be_visible()
    page.locator("#dismiss-letter").focus()
    page.keyboard.press("Enter")
    expect(notice).to_be_hidden()
    if "size" not in look:
        expect(page.locator("#draft")).to_be_focused()
    page.reload()
    expect(page.locator("#composer")).to_be_visible()
    expect(notice).to_be_hidden()
    assert find_unseen(mel) is None

    # One that came while nobody was there: the page was left open.
    request_tidying(mel, now=timezone.now())
    work()
    page.evaluate(COME_BACK_LATER)
    expect(notice).to_contain_text("没有需要整理的" if look["language"] == "zh-CN" else "nothing to tidy up")
    expect(page.locator("#letter-link")).to_be_hidden()


def test_without_a_model_it_says_what_is_missing(transactional_db: None, open_panel: OpenPanel) -> None:
    user = User.objects.create_user("mel")
    page = open_panel(user, "/admin/tidying/", **LOOKS["en"])
    expect(page.get_by_text("This needs a connected model.")).to_be_visible()
    expect(page.get_by_role("button", name="Tidy up now")).to_be_disabled()
