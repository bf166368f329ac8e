"""Files: attached with a button or a drop and sent; one's past imported, followed and undone; replies read aloud."""

from __future__ import annotations

import copy
import io
import re
from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.utils import timezone
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.conversations.models import Session
from apps.doors.imports.running import run_imports
from apps.doors.imports.services import create_import
from apps.memory.models import AtomicMemory
from tests.conversations.attachments.test_extracting import make_pdf
from tests.doors.imports.samples import (
    CHATGPT_ARCHIVE,
    CHATGPT_CONVERSATION,
    CLAUDE_ARCHIVE,
    PLAIN_LINES,
    as_json,
    as_lines,
)
from tests.e2e.chat_page import ChatPage
from tests.support.scripted_model import ScriptedModel

NOTES = {"name": "会议 notes.txt", "mimeType": "text/plain", "buffer": "发布会在三月三日。".encode("gb18030")}
MENU = {"name": "menu.pdf", "mimeType": "application/pdf", "buffer": make_pdf("Fish on Friday")}
PICTURE = {"name": "photo.png", "mimeType": "image/png", "buffer": b"\x89PNG\r\n\x1a\n\x00\x00\x00\xff\xfe"}
WORDS = {
    "zh-CN": {"attach": "添加文件", "remove": "移除 photo.png", "only": "只能添加文本文件和 PDF 文件。"},
    "en-US": {
        "attach": "Attach files",
        "remove": "Remove photo.png",
        "only": "Only text and PDF files can be attached.",
    },
}


def list_violations(chat: ChatPage) -> list[str]:
    found = Axe().run(chat.page).response["violations"]
    return [violation["id"] for violation in found if violation["impact"] in ("serious", "critical")]


@pytest.mark.journey
@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param({"language": "en-US", "dark": True, "size": (390, 844)}, marks=pytest.mark.long),
    ],
    ids=["zh", "en-dark-phone"],
)
def test_files_are_attached_and_read_by_the_model(
    open_chat: Callable[..., ChatPage], model: ScriptedModel, options: dict[str, Any]
) -> None:
    words = WORDS[options.get("language", "zh-CN")]
    chat = open_chat(**options)
    waiting = chat.page.locator("#attachments li")
    with chat.page.expect_file_chooser() as chooser:
        chat.page.get_by_role("button", name=words["attach"]).click()
    chooser.value.set_files([NOTES, MENU, PICTURE])
    expect(waiting).to_have_count(3)
    expect(chat.page.locator("#attachments [aria-busy=true]")).to_have_count(0)
    expect(chat.page.locator("#attachments [role=alert]")).to_have_text(words["only"])
    assert list_violations(chat) == []
    assert not chat.has_sideways_scroll()
    chat.page.get_by_role("button", name=words["remove"]).click()
    expect(waiting).to_have_count(2)

    chat.page.reload()
    expect(waiting).to_have_text(["会议 notes.txt", "menu.pdf"])
    chat.say("什么时候？")
    prompt = model.chat_requests[-1].blocks
    assert "发布会在三月三日。" in prompt
    assert "Fish on Friday" in prompt
    expect(waiting).to_have_count(0)
    expect(chat.said.last.locator(".sent-files li")).to_have_text(["会议 notes.txt", "menu.pdf"])
    chat.page.reload()
    expect(chat.said.last.locator(".sent-files li")).to_have_text(["会议 notes.txt", "menu.pdf"])
    assert list_violations(chat) == []
    assert not chat.has_sideways_scroll()


def test_a_dropped_text_is_attached_and_a_dropped_export_is_imported(chat: ChatPage) -> None:
    chat.drop("notes.md", b"# Notes")
    expect(chat.page.locator("#attachments li")).to_have_text(["notes.md"])
    chat.drop("export.json", b"[]")
    expect(chat.page.locator("#import")).to_be_visible()
    expect(chat.page.locator("#attachments li")).to_have_count(1)


def test_a_reply_is_read_aloud_and_silenced(open_chat: Callable[..., ChatPage], model: ScriptedModel) -> None:
    chat = open_chat(language="en-US")
    chat.page.add_init_script(
        """window.spoken = [];
        speechSynthesis.speak = (utterance) => window.spoken.push([utterance.lang, utterance.text.trim()]);
        speechSynthesis.cancel = () => window.spoken.push("silence");"""
    )
    chat.page.reload()
    chat.say("Hi")
    read = chat.page.locator('[data-action="read-aloud"]')
    expect(read).to_have_accessible_name("Read aloud")
    read.focus()
    chat.page.keyboard.press("Enter")
    expect(read).to_have_attribute("aria-pressed", "true")
    spoken = [item for item in chat.page.evaluate("window.spoken") if item != "silence"]
    assert spoken == [["zh-CN", "我记住了。"], ["en", "Nice to meet you!"]]
    chat.page.keyboard.press("Enter")
    expect(read).to_have_attribute("aria-pressed", "false")
    assert chat.page.evaluate("window.spoken").pop() == "silence"


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
