"""What waits for decisions and what was tidied up, in a browser: the queue by keyboard, the profile, letters."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.core.db import release_connections
from apps.memory.entries import create_memory
from apps.memory.judge.known import list_known_memories
from apps.memory.judge.types import Relation, Verdict
from apps.memory.lifecycle import create_atomic_memory
from apps.memory.models import AtomicMemory, LongTermMemory, Status
from apps.profile.document import ProposedSection
from apps.profile.models import UserProfile
from apps.profile.services import propose_sections, update_profile
from apps.tidying.run import claim_run, do_run
from apps.tidying.services import find_unseen, request_tidying
from tests.e2e.panel.conftest import LOOKS, Inspect, OpenPanel
from tests.panel.waiting import NOW, wait_atomic, wait_long_term, wait_profile
from tests.support.processes import wait_until
from tests.tidying.world import CapableModel, make_world, remember


@pytest.fixture
def waiting(mei: User) -> dict[str, LongTermMemory | AtomicMemory]:
    """Four things that wait, the newest named first."""
    create_memory(user=mei, category="preference", key="最喜欢的饮料", value="咖啡", now=NOW)
    create_atomic_memory(user=mei, content="用户住在北京。", timestamp=NOW - timedelta(days=90), now=NOW)
    wait_profile(mei, "reply_style", "回答要简短。", by_hand="回答要详细。\n不要用表情符号。")
    hostile = wait_long_term(
        mei, "note", "<script>alert(1)</script> {{ 7 }} ]]> \u202e rtl " + "长" * 600,
        said="well <script>alert(1)</script>", at=NOW + timedelta(minutes=2),
    )  # fmt: skip
    known = list_known_memories(mei, said=[], message_ids=[], budget=1_000)
    (home,) = (memory.number for memory in known if memory.text == "用户住在北京。")
    city = wait_atomic(
        mei,
        "用户搬到了上海，在浦东上班。",
        said="今天很忙。我可能下个月搬到上海，在浦东上班。你呢？",
        at=NOW + timedelta(minutes=3),
        verdict=Verdict(Relation.CONTRADICTS, (home,), 0.5),
        known=known,
    )
    drink = wait_long_term(
        mei, "最喜欢的饮料", "绿茶", said="我现在好像更喜欢绿茶了，咖啡喝多了睡不着。", at=NOW + timedelta(minutes=4)
    )
    return {"drink": drink, "city": city, "hostile": hostile}


@pytest.mark.journey
@pytest.mark.spec("M6")
def test_deciding_by_keyboard(
    open_panel: OpenPanel, inspect: Inspect, mei: User, waiting: dict[str, LongTermMemory]
) -> None:
    page = open_panel(mei, "/admin/review/")
    card = page.locator("[data-item][aria-current]")
    expect(card).to_contain_text("绿茶")
    expect(page.locator(".review-progress")).to_contain_text("还剩 4 条")
    page.keyboard.press("j")
    expect(card).to_contain_text("用户搬到了上海")
    expect(card.locator(".review-side").first).to_contain_text("用户住在北京。")
    expect(card).to_be_focused()
    inspect(page, "zh")
    page.keyboard.press("r")
    expect(page.locator("#toasts .toast")).to_contain_text("不会再次提议")
    expect(page.locator(".review-progress")).to_contain_text("还剩 3 条")
    expect(card).to_contain_text("note")
    page.keyboard.press("u")
    expect(page.locator(".review-progress")).to_contain_text("还剩 4 条")
    page.keyboard.press("k")
    expect(card).to_contain_text("绿茶")
    page.keyboard.press("e")
    value = card.locator("textarea[name=value]")
    expect(card.locator("input[name=key]")).to_be_focused()
    value.fill("[1,")
    value.press("Control+Enter")
    expect(card.locator(".editor__error")).to_contain_text("JSON")
    inspect(page, "editor")
    value.fill("龙井，少放茶叶")
    value.press("Control+Enter")
    expect(page.locator("#toasts .toast")).to_contain_text("已接受")
    drink = LongTermMemory.objects.get(id=waiting["drink"].id)
    assert (drink.status, drink.value) == ("active", "龙井，少放茶叶")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")


@pytest.mark.spec("M5")
def test_the_profile_is_read_edited_and_decided(open_panel: OpenPanel, inspect: Inspect, mei: User) -> None:
    now = timezone.now()
    texts = {"background": "律师，在上海工作", "sections": {"宠物": "豆豆，三岁"}}
    for days, changes in ((3, texts), (2, {"background": "律师，在杭州工作"})):
        update_profile(user=mei, changes=changes, now=now - timedelta(days=days))
    propose_sections(user=mei, proposals=[ProposedSection("background", "在苏州工作", None, now)], now=now)
    page = open_panel(mei, "/admin/profile/")
    inspect(page, "document")
    page.get_by_role("link", name=re.compile("^编辑.*宠物")).click()
    page.get_by_role("textbox", name="宠物").fill("豆豆，四岁\n喜欢晒太阳")
    inspect(page, "editor")
    page.get_by_role("button", name="保存").click()
    expect(page.locator(".profile-section__text", has_text="喜欢晒太阳")).to_be_visible()
    page.get_by_role("button", name="撤销").click()
    expect(page.locator(".profile-section__text", has_text="豆豆，三岁")).to_be_visible()
    page.get_by_role("button", name="接受", exact=True).click()
    expect(page.get_by_role("group", name="提议")).to_have_count(0)
    profile = UserProfile.objects.get(user=mei)
    assert profile.sections["宠物"] == "豆豆，三岁"
    assert "苏州" in profile.background
    assert page.title().startswith("画像")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name=re.compile("^恢复.*1$")).click()
    expect(page.locator(".profile-section__text", has_text="在上海工作")).to_be_visible()


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
@pytest.mark.e2e
@pytest.mark.spec("D2")
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


@pytest.mark.e2e
@pytest.mark.spec("D2")
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
@pytest.mark.e2e
@pytest.mark.spec("D2")
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


@pytest.mark.e2e
@pytest.mark.spec("D2")
def test_without_a_model_it_says_what_is_missing(transactional_db: None, open_panel: OpenPanel) -> None:
    user = User.objects.create_user("mel")
    page = open_panel(user, "/admin/tidying/", **LOOKS["en"])
    expect(page.get_by_text("This needs a connected model.")).to_be_visible()
    expect(page.get_by_role("button", name="Tidy up now")).to_be_disabled()
