"""Bringing one's past on the page: look, import, follow, undo."""

from __future__ import annotations

import copy
import io
import re
from collections.abc import Callable

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.conversations.models import Session
from apps.doors.imports.running import run_imports
from apps.doors.imports.services import create_import
from apps.memory.models import AtomicMemory
from tests.doors.imports.samples import (
    CHATGPT_ARCHIVE,
    CHATGPT_CONVERSATION,
    CLAUDE_ARCHIVE,
    PLAIN_LINES,
    as_json,
    as_lines,
)
from tests.e2e.chat_page import ChatPage


def work() -> None:
    """What a worker does."""
    while run_imports(token="e2e"):
        pass


def choose(chat: ChatPage, data: bytes, *, name: str = "export.zip") -> None:
    chat.page.locator("#account").click()
    chat.page.locator("#open-import").click()
    chat.page.locator("#import-file").set_input_files([{"name": name, "mimeType": "application/zip", "buffer": data}])


@pytest.mark.journey
def test_a_file_is_looked_through_imported_and_undone(chat: ChatPage, mei: User) -> None:
    choose(chat, CLAUDE_ARCHIVE)
    dialog = chat.page.locator("#import")
    expect(dialog).to_contain_text("Sourdough: I bake bread every Sunday.")
    expect(dialog.locator(".import-facts")).to_contain_text("Claude")
    dialog.locator("summary").click()
    expect(dialog.locator(".import-reasons")).to_contain_text("模型的思考过程")
    assert not Session.objects.exists()
    dialog.get_by_role("button", name="导入", exact=True).click()
    expect(dialog.get_by_role("status")).to_contain_text(re.compile("等待开始|正在读取"))
    work()
    expect(dialog.get_by_role("status")).to_contain_text("导入完成")
    expect(chat.sessions).to_contain_text(["Sourdough"])
    assert AtomicMemory.objects.filter(user=mei, status="active").count() == 4

    dialog.get_by_role("button", name="撤销导入").click()
    chat.page.locator("#confirm-yes").click()
    expect(dialog.get_by_role("status")).to_contain_text("正在撤销")
    work()
    expect(dialog.get_by_role("status")).to_contain_text("导入已撤销")
    expect(dialog).to_contain_text("已删除 1 个会话")
    expect(chat.sessions).to_have_count(0)
    assert not AtomicMemory.objects.filter(user=mei).exists()


def test_a_file_can_be_dropped_anywhere_and_progress_survives_a_reload(chat: ChatPage) -> None:
    conversations = []
    for number in range(60):
        conversation = copy.deepcopy(CHATGPT_CONVERSATION)
        conversations.append(conversation | {"conversation_id": f"c{number}", "title": f"会话 {number}"})
    chat.drop("conversations.json", as_json(conversations))
    dialog = chat.page.locator("#import")
    expect(dialog).to_contain_text("会话 0")
    dialog.get_by_role("button", name="导入", exact=True).click()
    expect(dialog.get_by_role("status")).to_be_visible()
    chat.page.reload()
    status = chat.page.locator("#import-status")
    expect(status).to_be_visible()
    status.click()
    expect(dialog).to_contain_text("conversations.json")
    chat.page.keyboard.press("Escape")
    work()
    expect(status).to_be_hidden()
    expect(chat.sessions.first).to_be_visible()
    assert Session.objects.count() == 60


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"hello", "不是有效的 JSON"), (b'{"a": 1}', "不是可以导入的格式"), (b"PK\x03\x04x", "压缩包已损坏")],
)
def test_a_file_that_cannot_be_imported_is_told_in_the_pages_language(chat: ChatPage, data: bytes, said: str) -> None:
    choose(chat, data, name="file")
    dialog = chat.page.locator("#import")
    expect(dialog.get_by_role("alert")).to_contain_text(said)
    dialog.get_by_role("button", name="返回").click()
    expect(dialog.get_by_role("button", name="选择文件")).to_be_focused()


@pytest.mark.parametrize(
    ("language", "size", "dark"), [("en-GB", (1280, 800), False), ("zh-CN", (390, 844), True)], ids=["wide", "phone"]
)
def test_it_fits_every_screen(
    open_chat: Callable[..., ChatPage], mei: User, language: str, size: tuple[int, int], dark: bool
) -> None:
    create_import(user=mei, file=io.BytesIO(as_lines(PLAIN_LINES)), name="notes.jsonl", now=timezone.now())
    work()
    chat = open_chat(language=language, size=size, dark=dark)
    if size[0] < 800:
        chat.page.locator("#open-sidebar").click()
    chat.page.locator("#account").click()
    chat.page.locator("#open-import").click()
    dialog = chat.page.locator("#import")
    expect(dialog.locator(".import-earlier li")).to_have_count(1)
    for data, step in ((CHATGPT_ARCHIVE, "chatgpt"), (CLAUDE_ARCHIVE, "claude")):
        chat.page.locator("#import-file").set_input_files([{"name": f"{step}.zip", "mimeType": "", "buffer": data}])
        expect(dialog.locator("summary")).to_be_visible()
        dialog.locator("summary").click()
    assert not chat.has_sideways_scroll()
    assert dialog.evaluate("element => element.scrollWidth <= element.clientWidth")
    dialog.locator("#import-actions .primary").click()
    expect(dialog.get_by_role("status")).to_be_visible()
    work()
    expect(dialog.locator("#import-actions .primary[data-close]")).to_be_visible()
