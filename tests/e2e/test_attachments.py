"""Files in the conversation: attached with a button or a drop, sent, edited, removed; replies read aloud."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.conversations.attachments.test_extracting import make_pdf
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
