"""Spaces in the chat page: made, chosen, talked in; conversations moved into them; what they keep to themselves."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from apps.accounts.models import Space, User
from apps.accounts.services.people import update_settings
from apps.accounts.spaces import create_space
from apps.conversations.models import Session
from apps.memory.models import AtomicMemory
from tests.e2e.chat_page import ChatPage, talk
from tests.e2e.panel.conftest import list_violations
from tests.e2e.test_finding import open_palette, options

WORDS: dict[str, dict[str, str]] = {
    "zh-CN": {
        "new": "新建空间", "name": "名称", "create": "创建空间", "space": "小说", "taken": "已有同名空间。",
        "say": "记住我的编辑叫小霞。", "ask": "我的编辑叫什么？", "editor": "小霞",
        "stays": "在这里学到的内容只留在此空间。", "instructions": "说明", "tell": "请像编辑那样回答。",
    },
    "en-GB": {
        "new": "New space", "name": "Name", "create": "Create space", "space": "The novel",
        "taken": "Another space already has this name.", "say": "Remember that my editor is called Ottoline.",
        "ask": "What is my editor called?", "editor": "Ottoline", "stays": "What I learn here stays in this space.",
        "instructions": "Instructions", "tell": "Answer as an editor.",
    },
}  # fmt: skip

SEND = """async ([method, path, body]) => {
  const token = document.cookie.match(/csrftoken=([^;]+)/)[1];
  const headers = { "Content-Type": "application/json", "X-CSRFToken": token };
  const response = await fetch(path, { method, headers, body: JSON.stringify(body) });
  return { status: response.status, ...(await response.json()) };
}"""


def spaces(chat: ChatPage) -> Locator:
    """The links of the sidebar to all conversations and to each space."""
    return chat.page.locator("#spaces a")


def choose(chat: ChatPage, name: str) -> None:
    spaces(chat).filter(has_text=name).click()
    expect(spaces(chat).filter(has_text=name)).to_have_attribute("aria-current", "true")


def begin(chat: ChatPage) -> None:
    """Open a new conversation where the sidebar is."""
    chat.page.keyboard.press("Control+Shift+O")
    expect(chat.messages).to_have_count(0)


def place(chat: ChatPage) -> Locator:
    """Where the header says the conversation is, or will be."""
    return chat.page.locator("#space")


def move(chat: ChatPage, title: str, to: str, *, by: str) -> None:
    chat.sessions.filter(has_text=title).get_by_role("button").click()
    chat.page.get_by_role("menuitem", name=by).click()
    chat.page.get_by_role("menuitemradio", name=to, exact=True).click()


@pytest.mark.spec("P1", "P2", "P3", "P4", "P5")
@pytest.mark.parametrize("language", WORDS)
def test_what_is_said_in_a_space_is_known_there_and_elsewhere_once_it_is_promoted(
    open_chat: Callable[..., ChatPage], mei: User, language: str
) -> None:
    # What was replied elsewhere while it was known there would be recalled, too.
    update_settings(user=mei, changes={"memory.rounds_top_n": 0})
    words = WORDS[language]
    chat = open_chat(language=language)
    expect(place(chat)).to_be_hidden()
    chat.page.get_by_role("button", name=words["new"]).click()
    dialog = chat.page.get_by_role("dialog", name=words["new"])
    expect(dialog.get_by_label(words["name"])).to_be_focused()
    dialog.get_by_label(words["name"]).fill(words["space"])
    dialog.get_by_label(words["instructions"]).fill(words["tell"])
    assert list_violations(chat.page) == []
    chat.page.get_by_role("button", name=words["create"]).click()
    expect(dialog).to_be_hidden()
    expect(place(chat)).to_have_text(words["space"])
    expect(chat.placeholder).to_contain_text(words["stays"])
    space = Space.objects.get(user=mei)
    assert (space.name, space.kind, space.instructions) == (words["space"], "project", words["tell"])

    chat.say(words["say"])
    expect(place(chat)).to_have_text(words["space"])
    memory = AtomicMemory.objects.get(user=mei)
    assert memory.space_id == space.id == Session.objects.get(user=mei).space_id

    spaces(chat).first.click()
    begin(chat)
    expect(chat.say(words["ask"])).not_to_contain_text(words["editor"])
    choose(chat, words["space"])
    expect(chat.sessions).to_have_count(1)
    expect(chat.say(words["ask"])).to_contain_text(words["editor"])

    promoted = send(chat, "POST", "/memory/move", {"ids": [str(memory.id)], "space": None})
    spaces(chat).first.click()
    expect(chat.sessions).to_have_count(3)
    begin(chat)
    expect(chat.say(words["ask"])).to_contain_text(words["editor"])
    send(chat, "POST", f"/memory/changes/{promoted['operation']}/undo", {})
    begin(chat)
    expect(chat.say(words["ask"])).not_to_contain_text(words["editor"])


def send(chat: ChatPage, method: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Ask the REST API as the page does."""
    answer = chat.page.evaluate(SEND, [method, path, body])
    assert answer["status"] < 300, answer
    return dict(answer)


@pytest.mark.spec("P4")
def test_a_conversation_is_moved_with_its_menu_the_mouse_and_the_header(
    open_chat: Callable[..., ChatPage], mei: User
) -> None:
    novel, _taxes = (create_space(user=mei, name=name) for name in ("Novel", "Taxes"))
    session = talk(mei, "Lighthouse", "The keeper did it.", "Who else?")
    talk(mei, "Elsewhere", "Hello", "Hello!")
    chat = open_chat(f"/s/{session.id}", language="en-GB")
    item = chat.sessions.filter(has_text="Lighthouse")
    move(chat, "Lighthouse", "Novel", by="Move to")
    toast = chat.page.locator(".toast")
    expect(toast).to_contain_text("Moved to “Novel”, with what was learned in it.")
    expect(place(chat)).to_have_text("Novel")
    expect(item.get_by_role("img", name="Novel")).to_be_visible()
    session.refresh_from_db()
    assert session.space_id == novel.id
    toast.get_by_role("button", name="Undo").click()
    expect(place(chat)).to_be_hidden()
    expect(item.get_by_role("img")).to_have_count(0)

    item.get_by_role("link").drag_to(spaces(chat).filter(has_text="Taxes"))
    expect(place(chat)).to_have_text("Taxes")
    choose(chat, "Taxes")
    expect(chat.sessions).to_have_text(["Lighthouse"])
    chat.sessions.get_by_role("link").click()
    expect(chat.messages).to_have_count(2)
    place(chat).press("Enter")
    current = chat.page.get_by_role("menuitemradio", name="Taxes")
    expect(current).to_be_focused()
    chat.page.keyboard.press("Escape")
    expect(place(chat)).to_be_focused()
    place(chat).press("Enter")
    chat.page.keyboard.press("Home")
    chat.page.keyboard.press("Enter")
    expect(chat.page.locator("#sessions")).to_contain_text("No conversations in this space yet.")
    session.refresh_from_db()
    assert session.space_id is None


@pytest.mark.spec("P5")
def test_the_address_keeps_the_space_and_a_new_conversation_chooses_its_own(
    open_chat: Callable[..., ChatPage], mei: User
) -> None:
    novel = create_space(user=mei, name="Novel")
    create_space(user=mei, name="Taxes", learns_to="everywhere")
    talk(mei, "Lighthouse", "The keeper did it.", "Who else?", space=novel)
    talk(mei, "Elsewhere", "Hello", "Hello!")
    chat = open_chat(language="en-GB")
    expect(chat.sessions).to_have_text(["Elsewhere", "Lighthouse"])
    choose(chat, "Novel")
    expect(chat.sessions).to_have_text(["Lighthouse"])
    chat.page.reload()
    expect(chat.sessions).to_have_text(["Lighthouse"])
    expect(place(chat)).to_have_text("Novel")
    chat.sessions.get_by_role("link").click()
    expect(chat.messages).to_have_count(2)
    chat.page.reload()
    expect(chat.sessions).to_have_text(["Lighthouse"])
    expect(chat.messages).to_have_count(2)
    spaces(chat).first.click()
    expect(chat.sessions).to_have_text(["Elsewhere", "Lighthouse"])
    expect(chat.messages).to_have_count(2)
    chat.page.go_back()
    expect(chat.sessions).to_have_text(["Lighthouse"])

    begin(chat)
    place(chat).click()
    chat.page.get_by_role("menuitemradio", name="Taxes").click()
    expect(chat.placeholder).to_contain_text("What I learn here counts everywhere.")
    expect(chat.sessions).to_have_count(0)
    chat.say("Hello there")
    expect(chat.sessions).to_have_text(["Hello there"])
    assert Session.objects.get(title="Hello there").space.name == "Taxes"  # type: ignore[union-attr]
    begin(chat)
    chat.page.get_by_role("switch", name="Temporary conversation").click()
    expect(place(chat)).to_be_hidden()
    chat.say("Hello again")
    assert Session.objects.get(temporary=True).space is None

    chat.page.goto(f"/?space={'0' * 8}-0000-4000-8000-{'0' * 12}")  # of a space that is gone
    expect(spaces(chat).first).to_have_attribute("aria-current", "true")
    expect(chat.sessions).to_have_count(4)


@pytest.mark.spec("P1")
@pytest.mark.parametrize("language", WORDS)
def test_a_space_is_edited_archived_and_brought_back(
    open_chat: Callable[..., ChatPage], mei: User, language: str
) -> None:
    words = WORDS[language]
    for name in (words["space"], "二"):
        create_space(user=mei, name=name)
    chat = open_chat(language=language, size=(390, 780), has_touch=True, is_mobile=True)
    chat.page.locator("#open-sidebar").tap()
    items = chat.page.locator("#spaces li[data-space]")
    expect(items).to_have_text([words["space"], "二"])

    def open_menu(item: int = 0) -> Locator:
        items.nth(item).get_by_role("button").tap()
        return chat.page.get_by_role("menuitem")

    open_menu().first.tap()
    dialog = chat.page.get_by_role("dialog")
    field = dialog.get_by_label(words["name"])
    expect(field).to_have_value(words["space"])
    field.fill("二")
    field.press("Enter")
    expect(dialog.get_by_role("alert")).to_have_text(words["taken"])
    field.fill("三")
    field.press("Enter")
    expect(dialog).to_be_hidden()
    expect(items).to_have_text(["三", "二"])
    expect(items.first.get_by_role("link")).to_be_focused()

    items.first.get_by_role("link").tap()
    expect(chat.page.locator("#sidebar")).to_be_in_viewport()  # its conversations are looked at
    menu = open_menu()
    memories, deletion = (menu.nth(place).get_attribute("href") for place in (1, 4))
    space = Space.objects.get(name="三")
    assert memories == f"/admin/memories/?space={space.id}"
    assert deletion == f"/admin/accounts/space/{space.id}/delete/"
    menu.nth(3).tap()
    expect(items).to_have_text(["二"])
    expect(spaces(chat).first).to_have_attribute("aria-current", "true")
    chat.page.locator("#show-archived").tap()
    expect(items).to_have_text(["三"])
    open_menu().nth(3).tap()
    expect(items).to_have_count(0)
    chat.page.locator("#show-archived").tap()
    expect(items).to_have_text(["三", "二"])
    assert list_violations(chat.page) == []
    assert not chat.has_sideways_scroll()


@pytest.mark.spec("P2", "P5")
def test_a_search_looks_through_all_spaces_and_says_which(open_chat: Callable[..., ChatPage], mei: User) -> None:
    novel = create_space(user=mei, name="Novel")
    talk(mei, "Lighthouse", "The keeper did it.", "Who else?", space=novel)
    talk(mei, "Zoo", "The keeper fed it.", "Good.")
    chat = open_chat(language="en-GB")
    open_palette(chat).fill("keeper")
    found = options(chat).filter(has=chat.page.locator("bdi"))
    expect(found).to_have_count(2)
    expect(found.filter(has_text="Lighthouse").locator(".badge")).to_have_text("Novel")
    expect(found.filter(has_text="Zoo").locator(".badge")).to_have_count(0)
    chat.page.locator("#palette-field").fill("space: novel")
    chat.page.keyboard.press("Enter")
    expect(chat.page).to_have_url(re.compile(rf"/\?space={novel.id}$"))
    expect(chat.sessions).to_have_text(["Lighthouse"])


def test_who_has_no_spaces_sees_nothing_of_them_and_asks_for_none(chat: ChatPage) -> None:
    asked: list[str] = []
    chat.page.on("request", lambda request: asked.append(request.url))
    chat.say("你好")
    chat.page.reload()
    expect(chat.section("strategy")).to_be_visible()
    expect(spaces(chat)).to_have_count(0)
    expect(place(chat)).to_be_hidden()
    assert not [url for url in asked if "/memory/spaces" in url]
    chat.sessions.first.get_by_role("button").click()
    expect(chat.page.get_by_role("menuitem")).to_have_text(["重命名", "置顶", "暂停记忆", "归档", "导出", "删除"])
