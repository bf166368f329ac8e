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
from tests.e2e.panel.conftest import LOOKS, Inspect, OpenPanel
from tests.tidying.world import CapableModel, make_world, remember

pytestmark = [pytest.mark.e2e, pytest.mark.spec("D2")]


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


def test_without_a_model_it_says_what_is_missing(transactional_db: None, open_panel: OpenPanel) -> None:
    user = User.objects.create_user("mel")
    page = open_panel(user, "/admin/tidying/", **LOOKS["en"])
    expect(page.get_by_text("This needs a connected model.")).to_be_visible()
    expect(page.get_by_role("button", name="Tidy up now")).to_be_disabled()
