"""Finding things: search over all conversations, the palette, shortcuts; pinning, archiving and renaming."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import APIResponse, Locator, Route, expect

from apps.accounts.models import User
from apps.conversations.models import Session
from apps.memory.vectors.messages import prepare_embeddings, store_embeddings
from tests.e2e.chat_page import ChatPage, talk
from tests.e2e.panel.conftest import list_violations

LOOKS = pytest.mark.parametrize(
    ("language", "size", "dark"), [("zh-CN", (1440, 900), False), ("en-GB", (390, 780), True)], ids=["zh", "en-phone"]
)


def open_palette(chat: ChatPage) -> Locator:
    """Open the palette with its keys; returns the field."""
    chat.page.keyboard.press("Control+k")
    field = chat.page.locator("#palette-field")
    expect(field).to_be_focused()
    return field


def options(chat: ChatPage) -> Locator:
    return chat.page.locator("#palette-list [role=option]")


def chosen(chat: ChatPage) -> Locator:
    return chat.page.locator("#palette-list [aria-selected=true]")


@pytest.mark.journey
@pytest.mark.parametrize("language", ["zh-CN", pytest.param("en-GB", marks=pytest.mark.long)])
def test_what_was_said_long_ago_is_found_opened_and_marked(
    open_chat: Callable[..., ChatPage], mei: User, language: str
) -> None:
    long = [f"第 {number} 条" for number in range(300)]
    long[4] = "🎉 我把备用钥匙放在灯塔的信箱里。The spare key is in the lighthouse."
    talk(mei, "旧事", *long)
    talk(mei, "Other", "Nothing of the kind.", "Indeed.")
    chat = open_chat(language=language)
    word = "备用钥匙" if language == "zh-CN" else "spare key"
    open_palette(chat).fill(word)
    hit = options(chat).locator("mark")
    expect(hit).to_have_text([word] if language == "zh-CN" else ["spare", "key"])
    expect(chat.page.locator("#palette-status")).to_have_text(
        re.compile("找到 1 个会话" if language == "zh-CN" else "1 conversation found")
    )
    chat.page.keyboard.press("ArrowDown")
    expect(chosen(chat)).to_contain_text(word)
    chat.page.keyboard.press("Enter")

    found = chat.page.locator("article[data-found]")
    expect(found).to_contain_text(word)
    expect(found).to_be_in_viewport()
    expect(found).to_be_focused()
    expect(chat.page.locator("#title")).to_have_text("旧事")

    chat.page.reload()  # the address names the message
    expect(found).to_be_in_viewport()
    chat.page.go_back()
    expect(chat.messages).to_have_count(0)


def test_titles_archived_and_similar_conversations_are_found(open_chat: Callable[..., ChatPage], mei: User) -> None:
    talk(mei, "Puppy names", "How shall we call it?", "Bella.")
    talk(mei, "Put away", "Our puppy barks.", "Walk it.", archived=True)
    similar = talk(mei, "Family", "We adopted a young dog.", "Fine.")
    temporary = talk(mei, "Temporary puppy", "A secret puppy.", "Fine.", temporary=True)
    store_embeddings(prepare_embeddings([*similar.messages.all(), *temporary.messages.all()]))
    chat = open_chat(language="en-GB")
    open_palette(chat).fill("puppy")
    expect(options(chat).locator("bdi")).to_have_text(["Puppy names", "Put away", "Family"])
    expect(options(chat).filter(has_text="Put away").locator(".badge")).to_have_text("Archived")
    expect(options(chat).filter(has_text="young dog").locator(".badge")).to_have_text("Similar")
    expect(options(chat).filter(has_text="secret")).to_have_count(0)


def test_words_are_shown_while_what_is_similar_is_not_there_yet(open_chat: Callable[..., ChatPage], mei: User) -> None:
    talk(mei, "钥匙", "备用钥匙", "好。")
    chat = open_chat()
    waiting = []
    chat.page.route(re.compile("mode=meaning"), lambda route: waiting.append(route))
    open_palette(chat).fill("钥匙")
    expect(options(chat).locator(".excerpt")).to_have_text(["备用钥匙"])
    assert len(waiting) == 1
    waiting[0].abort()
    expect(chat.page.locator("#palette-status")).to_have_text("找到 1 个会话")
    expect(options(chat).locator("bdi")).to_have_text(["钥匙"])


def test_nothing_found_is_said_and_a_failure_too(chat: ChatPage) -> None:
    field = open_palette(chat)
    field.fill("不存在的话")
    status = chat.page.locator("#palette-status")
    expect(status).to_have_text("没有找到。")
    expect(field).to_have_attribute("aria-expanded", "false")
    chat.page.context.set_offline(True)
    field.fill("不存在的")
    expect(status).to_have_text("无法连接服务器。")
    chat.page.context.set_offline(False)


@LOOKS
def test_the_palette_is_a_combobox_and_runs_commands(
    open_chat: Callable[..., ChatPage], mei: User, language: str, size: tuple[int, int], dark: bool
) -> None:
    session = talk(mei, "一", "你好", "你好！")
    talk(mei, "二", "再见", "再见！")
    chat = open_chat(f"/s/{session.id}", language=language, size=size, dark=dark)
    expect(chat.messages).to_have_count(2)
    field = open_palette(chat)
    expect(field).to_have_role("combobox")
    expect(field).to_have_attribute("aria-expanded", "true")
    expect(options(chat).locator("bdi")).to_have_text(["二", "一"])
    assert list_violations(chat.page) == []
    assert not chat.has_sideways_scroll()

    expect(options(chat).first).to_have_attribute("aria-selected", "true")
    chat.page.keyboard.press("ArrowUp")
    expect(options(chat).last).to_have_attribute("aria-selected", "true")
    expect(field).to_have_attribute("aria-activedescendant", str(options(chat).last.get_attribute("id")))
    expect(options(chat).last).to_be_in_viewport()
    chat.page.keyboard.press("ArrowDown")
    expect(chosen(chat)).to_have_text(re.compile("二"))

    field.fill("深色" if language == "zh-CN" else "appearance: dark")
    expect(options(chat)).to_have_count(1)
    chat.page.keyboard.press("Enter")
    expect(chat.page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(chat.page.locator("#palette")).to_be_hidden()

    open_palette(chat)
    chat.page.keyboard.press("Escape")
    expect(chat.page.locator("#palette")).to_be_hidden()


def test_enter_waits_for_what_is_being_searched(open_chat: Callable[..., ChatPage], mei: User) -> None:
    talk(mei, "一", "备用钥匙在信箱里", "好。")
    talk(mei, "二", "再见", "再见！")
    chat = open_chat()
    open_palette(chat).fill("信箱")
    chat.page.keyboard.press("Enter")  # before anything was found: the newest session is still listed
    expect(chat.page.locator("#title")).to_have_text("一")


def test_a_language_is_chosen_from_the_palette(chat: ChatPage) -> None:
    open_palette(chat).fill("english")
    chat.page.keyboard.press("Enter")
    expect(chat.page.locator("html")).to_have_attribute("lang", "en")


def test_an_input_method_chooses_words_in_the_palette_and_runs_nothing(chat: ChatPage) -> None:
    open_palette(chat)
    protocol = chat.page.context.new_cdp_session(chat.page)
    protocol.send("Input.imeSetComposition", {"text": "deng", "selectionStart": 4, "selectionEnd": 4})
    chat.page.keyboard.press("Enter")
    expect(chat.page.locator("#palette")).to_be_visible()


def test_every_shortcut_is_in_the_sheet_and_works(open_chat: Callable[..., ChatPage], mei: User) -> None:
    session = talk(mei, "一", "你好", "你好！")
    chat = open_chat(f"/s/{session.id}")
    expect(chat.messages).to_have_count(2)
    sheet = chat.page.get_by_role("dialog", name="快捷键")
    chat.page.keyboard.press("Control+/")
    expect(sheet).to_be_visible()
    expect(sheet.locator("dt")).to_have_count(15)
    expect(sheet.locator("dd").first).to_have_text("CtrlK")
    assert list_violations(chat.page) == []
    chat.page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()

    expect(chat.draft).to_be_focused()
    chat.page.keyboard.type("why?")  # in a field it is a question mark
    expect(chat.draft).to_have_value("why?")
    expect(sheet).to_be_hidden()
    chat.page.locator("#scroller").focus()
    chat.page.keyboard.press("?")
    expect(sheet).to_be_visible()
    chat.page.keyboard.press("Control+k")  # one dialog at a time
    expect(chat.page.locator("#palette")).to_be_hidden()
    chat.page.keyboard.press("Escape")

    expect(chat.details).to_be_visible()
    chat.page.keyboard.press("Control+.")
    expect(chat.details).to_be_hidden()
    chat.page.keyboard.press("Control+.")
    expect(chat.details).to_be_visible()

    chat.page.keyboard.press("F2")
    expect(chat.page.locator(".session-title")).to_be_focused()
    chat.page.keyboard.press("Escape")
    chat.page.keyboard.press("Control+Shift+O")
    expect(chat.messages).to_have_count(0)
    expect(chat.draft).to_be_focused()
    button = chat.page.locator("#new-session")
    expect(button).to_have_attribute("aria-keyshortcuts", "Control+Shift+O")
    expect(button.locator("kbd")).to_have_text("Ctrl ⇧O")


def test_a_session_is_renamed_where_its_title_stands(chat: ChatPage) -> None:
    chat.say("你好")
    link = chat.sessions.get_by_role("link")
    field = chat.page.locator(".session-title")
    expect(link).to_have_text("你好")
    link.dblclick()
    expect(field).to_be_focused()
    expect(field).to_have_value("你好")
    chat.page.keyboard.type("第一次聊天")
    chat.page.keyboard.press("Escape")
    expect(link).to_have_text("你好")
    expect(link).to_be_focused()

    chat.page.keyboard.press("F2")
    chat.page.keyboard.type("第一次聊天")
    chat.page.keyboard.press("Enter")
    expect(link).to_have_text("第一次聊天")
    expect(link).to_be_focused()
    expect(chat.page.locator("#title")).to_have_text("第一次聊天")
    assert Session.objects.get().title == "第一次聊天"

    chat.sessions.first.get_by_role("button").click()
    chat.page.get_by_role("menuitem", name="重命名").click()
    field.fill("  ")
    chat.page.keyboard.press("Enter")
    expect(link).to_have_text("第一次聊天")
    chat.page.keyboard.press("F2")
    field.fill("离开即保存")
    chat.draft.click()
    expect(link).to_have_text("离开即保存")
    expect(chat.draft).to_be_focused()


def hold_answers(chat: ChatPage, count: int) -> list[tuple[Route, APIResponse]]:
    """Keep back the first answers about a session, which are noted here."""
    held: list[tuple[Route, APIResponse]] = []

    def hold(route: Route) -> None:
        if len(held) == count or route.request.method != "GET":
            route.continue_()
        else:
            held.append((route, route.fetch()))

    chat.page.route(re.compile(r"/chat/sessions/[0-9a-f-]{36}$"), hold)
    return held


def test_a_title_stays_that_was_given_while_an_older_one_was_on_its_way(chat: ChatPage) -> None:
    held = hold_answers(chat, 1)
    chat.say("你好")
    link = chat.sessions.get_by_role("link")
    expect(link).to_have_count(1)
    wait_until_in_page(chat, lambda: bool(held))
    link.press("F2")
    chat.page.keyboard.type("第一次聊天")
    chat.page.keyboard.press("Enter")
    expect(chat.page.locator("#title")).to_have_text("第一次聊天")
    route, response = held[0]
    assert response.json()["title"] == "你好"
    with chat.page.expect_response(lambda later: later.url == route.request.url and later.json()["title"] != "你好"):
        route.fulfill(response=response)
    expect(link).to_have_text("第一次聊天")
    expect(chat.page.locator("#title")).to_have_text("第一次聊天")


def test_a_title_stays_that_was_given_while_its_conversation_was_loading(chat: ChatPage) -> None:
    held: list[Route] = []
    chat.say("你好")
    link = chat.sessions.get_by_role("link")
    expect(link).to_have_text("你好")
    chat.page.route(re.compile(r"/edits\?"), lambda route: held.append(route))
    with chat.page.expect_response(re.compile(r"/chat/sessions/[0-9a-f-]{36}$")):
        link.dblclick()  # its clicks open the conversation anew
    expect(chat.page.locator(".session-title")).to_be_focused()
    wait_until_in_page(chat, lambda: len(held) == 2)
    chat.page.keyboard.type("第一次聊天")
    chat.page.keyboard.press("Enter")
    expect(link).to_have_text("第一次聊天")
    for route in held:
        with chat.page.expect_response(re.compile(r"/messages\?")) as loaded:
            route.continue_()
        loaded.value.finished()
    expect(chat.messages).to_have_count(2)
    expect(link).to_have_text("第一次聊天")
    expect(chat.page.locator("#title")).to_have_text("第一次聊天")


def test_a_title_is_typed_to_its_end_while_the_list_changes(chat: ChatPage) -> None:
    held = hold_answers(chat, 2)
    chat.say("你好")
    wait_until_in_page(chat, lambda: len(held) == 2)  # at the reply's start, and at its end
    link = chat.sessions.get_by_role("link")
    link.press("F2")
    chat.page.keyboard.type("第一次")
    for route, response in held:
        route.fulfill(response=response)
    expect(chat.page.locator("#title")).to_have_text("你好")  # which the list shows as soon as the field is left
    expect(chat.page.locator(".session-title")).to_be_focused()
    chat.page.keyboard.press("F2")
    chat.page.keyboard.type("聊天")
    expect(chat.page.locator(".session-title")).to_have_value("第一次聊天")
    chat.page.keyboard.press("Enter")
    expect(link).to_have_text("第一次聊天")
    expect(chat.page.locator("#title")).to_have_text("第一次聊天")


def wait_until_in_page(chat: ChatPage, condition: Callable[[], bool]) -> None:
    """Wait for what handlers of the page's requests have noted: they run while the page is waited for."""
    for _attempt in range(200):
        if condition():
            return
        chat.page.wait_for_timeout(50)
    raise AssertionError("still not true after 10 s")


def test_sessions_are_archived_found_in_the_archive_and_brought_back(
    open_chat: Callable[..., ChatPage], mei: User
) -> None:
    session = talk(mei, "一", "你好", "你好！")
    talk(mei, "二", "再见", "再见！")
    chat = open_chat(f"/s/{session.id}", size=(390, 780))
    expect(chat.messages).to_have_count(2)
    chat.page.locator("#open-sidebar").click()
    badge = chat.page.locator("#archived-badge")
    titles = chat.sessions.get_by_role("link")

    def archive(name: str) -> None:
        chat.sessions.filter(has_text="一").get_by_role("button").click()
        chat.page.get_by_role("menuitem", name=name, exact=True).click()

    archive("归档")
    expect(titles).to_have_text(["二"])
    expect(badge).to_be_visible()
    chat.page.get_by_role("button", name="撤销", exact=True).click()
    expect(titles).to_have_text(["二", "一"])
    expect(badge).to_be_hidden()

    archive("归档")
    expect(titles).to_have_text(["二"])
    switcher = chat.page.locator("#show-archived")
    switcher.click()
    expect(switcher).to_have_attribute("aria-pressed", "true")
    expect(titles).to_have_text(["一"])
    assert list_violations(chat.page) == []
    assert not chat.has_sideways_scroll()
    archive("取消归档")
    expect(chat.page.locator("#sessions")).to_contain_text("没有已归档的会话")
    switcher.click()
    expect(titles).to_have_text(["二", "一"])
    assert not Session.objects.filter(archived=True).exists()


def test_the_focus_stays_in_the_list_when_a_session_leaves_it(open_chat: Callable[..., ChatPage], mei: User) -> None:
    for title in "一二三":
        talk(mei, title, "你好", "你好！")
    chat = open_chat()
    item = chat.sessions.filter(has_text="二")
    item.get_by_role("button").focus()
    chat.page.keyboard.press("Enter")
    for _ in range(3):
        chat.page.keyboard.press("ArrowDown")
    chat.page.keyboard.press("Enter")
    expect(item).to_have_count(0)
    expect(chat.sessions.get_by_role("link").filter(has_text="一")).to_be_focused()
