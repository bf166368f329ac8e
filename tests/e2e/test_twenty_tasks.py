"""What a newcomer tries, from logging in to undoing what was learned: twenty tasks, each with the keyboard alone.

The test only presses keys. It looks at the page to know what happened, and moves to a control as people do, with Tab,
the arrow keys and shortcuts; a control that cannot be reached like that fails it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from apps.accounts.models import User
from apps.memory.models import LongTermMemory
from tests.e2e.chat_page import ChatPage, read_clipboard
from tests.e2e.conftest import PASSWORD

# Who has to press Tab more often than this does not find a control.
MOST_TABS = 60

WORDS: dict[str, dict[str, str]] = {
    "zh-CN": {
        "hello": "你好，我叫小明，住在北京，最喜欢的颜色是蓝色", "city": "北京", "moved": "我搬到上海了", "now": "上海",
        "ask": "我喜欢的颜色是什么？", "colour": "蓝色", "reworded": "我最喜欢的颜色是哪一种？", "title": "颜色",
        "pin": "置顶此会话", "archive": "归档此会话", "unarchive": "取消归档", "export": "导出",
        "dark": "外观：深色", "panel": "记忆面板：记忆",
    },
    "en-US": {
        "hello": "Hi, I'm Mel. I live in Berlin. My favorite color is blue.", "city": "Berlin",
        "moved": "I moved to Hamburg.", "now": "Hamburg", "ask": "What is my favorite color?", "colour": "blue",
        "reworded": "Which color is my favorite color?", "title": "Colors", "pin": "Pin this",
        "archive": "Archive this",
        "unarchive": "Unarchive this", "export": "Export this", "dark": "Appearance: dark", "panel": "panel: memories",
    },
}  # fmt: skip


class Keyboard:
    """Somebody before the page who has no mouse."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.chat = ChatPage(page)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, text: str) -> None:
        self.page.keyboard.insert_text(text)

    def reach(self, control: Locator, *, key: str = "Tab") -> None:
        """Move to a control; it must be on the way, and visible once it has the focus."""
        expect(control).to_be_attached()
        for _ in range(MOST_TABS):
            if control.evaluate("element => element === document.activeElement"):
                expect(control).to_be_visible()
                return
            self.press(key)
        raise AssertionError(f"{control} cannot be reached with {key}")

    def use(self, control: Locator, *, key: str = "Tab") -> None:
        """Move to a control and press Enter."""
        self.reach(control, key=key)
        self.press("Enter")

    def say(self, text: str) -> Locator:
        """Go to the field, write, send, and wait for the reply."""
        self.reach(self.chat.draft)
        self.type(text)
        stored = self.page.locator("article.assistant[data-status=complete]")
        before = stored.count()
        expect(self.chat.send_button).to_be_enabled()
        self.press("Enter")
        expect(stored).to_have_count(before + 1)
        return stored.last

    def command(self, words: str) -> None:
        """Run a command of the palette, or open what it finds."""
        self.press("Control+k")
        expect(self.page.locator("#palette-field")).to_be_focused()
        self.type(words)
        chosen = self.page.locator("#palette-list [aria-selected=true]")
        expect(chosen).to_contain_text(re.compile(re.escape(words.split(": ")[-1].split("：")[-1]), re.IGNORECASE))
        self.press("Enter")
        expect(self.page.locator("#palette")).to_be_hidden()


@pytest.mark.journey
@pytest.mark.parametrize("language", ["zh-CN", pytest.param("en-US", marks=pytest.mark.long)])
def test_twenty_tasks_with_the_keyboard_alone(
    new_context: Callable[..., BrowserContext], mei: User, language: str, tmp_path: Path
) -> None:
    words = WORDS[language]
    page = new_context(
        language=language, accept_downloads=True, permissions=["clipboard-read", "clipboard-write"]
    ).new_page()
    page.goto("/")
    keys = Keyboard(page)
    chat = keys.chat

    # 1. Log in
    expect(page.locator("#id_username")).to_be_focused()
    keys.type(mei.username)
    keys.press("Tab")
    keys.type(PASSWORD)
    keys.press("Enter")
    expect(chat.draft).to_be_focused()

    # 2. Tell who one is
    reply = keys.say(words["hello"])
    expect(reply).not_to_be_empty()

    # 3. See what was remembered
    details = chat.details
    if details.is_hidden():
        keys.press("Control+.")
    expect(details).to_be_visible()
    expect(chat.section("remembered")).to_contain_text(words["city"])

    # 4. Correct it, and see what changed
    reply = keys.say(words["moved"])
    change = reply.locator(".change")
    expect(change).to_contain_text(words["city"])
    expect(change).to_contain_text(words["now"])

    # 5. Undo what it learned
    keys.use(change.get_by_role("button"), key="Shift+Tab")
    expect(change).to_have_class(re.compile("undone"))
    city = LongTermMemory.objects.get(user=mei, status="active", value=words["city"])

    # 6. Get another reply
    keys.use(page.locator('[data-action="regenerate"]'))
    expect(page.locator("article.assistant[data-status=complete]")).to_have_count(2)

    # 7. Mark a reply as a favourite
    star = chat.replies.last.locator('[data-action="favourite"]')
    keys.reach(star, key="Shift+Tab")
    with page.expect_response("**/chat/messages/*"):
        keys.press("Space")
    expect(star).to_have_attribute("aria-pressed", "true")

    # 8. Copy a reply
    copy = chat.replies.last.locator('[data-action="copy"]')
    keys.use(copy)
    expect(copy.locator("use")).to_have_attribute("href", re.compile("#check"))
    assert read_clipboard(page)

    # 9. Begin a new conversation, and be remembered there
    keys.press("Control+Shift+O")
    expect(chat.messages).to_have_count(0)
    reply = keys.say(words["ask"])
    expect(reply).to_contain_text(words["colour"])

    # 10. Say it differently
    keys.use(chat.said.last.locator('[data-action="edit-message"]'), key="Shift+Tab")
    keys.press("Control+a")
    keys.type(words["reworded"])
    keys.press("Enter")
    expect(chat.said.last.locator(".bubble")).to_have_text(words["reworded"])
    expect(page.locator("article.assistant[data-status=complete]")).to_have_count(1)

    # 11. Give the conversation a title
    keys.press("F2")
    keys.press("Control+a")
    keys.type(words["title"])
    keys.press("Enter")
    expect(page.locator("#title")).to_have_text(words["title"])

    # 12. Pin it
    keys.command(words["pin"])
    expect(page.locator("#sessions h2").first).to_have_text(re.compile("置顶|Pinned"))

    # 13. Find what was said in another conversation, and go there
    keys.press("Control+k")
    keys.type(words["moved"].rstrip("。."))
    found = page.locator("#palette-list [role=option]", has_text=words["now"])
    expect(found.locator("mark").first).to_be_visible()
    while found.first.get_attribute("aria-selected") != "true":
        keys.press("ArrowDown")
    keys.press("Enter")
    expect(page.locator("article[data-found]")).to_contain_text(words["now"])

    # 14. Archive it, and bring it back
    keys.command(words["archive"])
    expect(page.locator("#archived-badge")).to_be_visible()
    keys.command(words["unarchive"])
    expect(page.locator("#archived-badge")).to_be_hidden()

    # 15. Take it along as a file
    keys.command(words["export"])
    with page.expect_download() as download:
        keys.use(page.locator("a.export-choice").first)
    saved = tmp_path / "conversation.md"
    download.value.save_as(saved)
    assert words["moved"] in saved.read_text()
    keys.press("Escape")

    # 16. Attach a file
    keys.press("Control+Shift+O")
    with page.expect_file_chooser() as chooser:
        keys.use(page.locator("#attach"))
    chooser.value.set_files([{"name": "notes.txt", "mimeType": "text/plain", "buffer": b"Bring cake on Friday."}])
    expect(page.locator("#attachments li[aria-busy=false]")).to_have_count(1)
    keys.use(page.locator("#attachments button"), key="Shift+Tab")
    expect(page.locator("#attachments li")).to_have_count(0)

    # 17. Look up the shortcuts
    keys.press("Control+/")
    sheet = page.get_by_role("dialog", name=re.compile("快捷键|Keyboard shortcuts"))
    expect(sheet).to_be_visible()
    keys.press("Escape")
    expect(sheet).to_be_hidden()

    # 18. Choose dark colours
    keys.command(words["dark"])
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")

    # 19. Correct a memory in the panel
    keys.command(words["panel"])
    expect(page).to_have_url(re.compile("/admin/memories/"))
    row = page.locator(f"#memory-{city.pk}")
    keys.use(row.get_by_role("button", name=re.compile("^(编辑|Edit)")))
    field = page.locator("form.editor [name=value]")
    keys.reach(field)
    keys.press("Control+a")
    keys.type("Leipzig")
    keys.press("Control+Enter")
    expect(row.locator(".memory__value")).to_have_text("Leipzig")

    # 20. Undo that, in the list of all changes
    keys.use(page.locator("#nav-sidebar a[href='/admin/memory/change/']"), key="Shift+Tab")
    expect(page).to_have_url(re.compile("/admin/memory/change/"))
    page.on("dialog", lambda dialog: dialog.accept())  # the browser's own question, answered with Enter
    with page.expect_response(re.compile("/undo")) as undone:
        keys.use(page.locator(".change__undo").first)
    assert undone.value.ok
    city.refresh_from_db()
    assert city.value == words["city"]
