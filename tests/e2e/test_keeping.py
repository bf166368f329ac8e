"""What can be kept of a conversation, what a temporary one keeps, and what an imported one does not have."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.conversations.models import Message, Session
from apps.conversations.recordings import record_turns
from apps.conversations.types import RecordedMessage
from apps.memory.models import AtomicMemory
from tests.e2e.chat_page import ChatPage
from tests.e2e.panel.conftest import list_violations

LOOKS = [
    {"language": "zh-CN"},
    {"language": "en-US", "dark": True},
    {"language": "zh-CN", "dark": True, "size": (390, 844)},
    {"language": "en-US", "size": (390, 844)},
]


def make_past(user: User) -> Session:
    """A conversation that was held elsewhere."""
    session = Session.objects.create(user=user, title="Trip to 苏州")
    said = [
        RecordedMessage("user", "I am going to *Suzhou*."),
        RecordedMessage("assistant", "Have a **good** trip.\n\n- tea"),
    ]
    record_turns(user=user, session_id=session.id, messages=said, idempotency_key=None, now=timezone.now())
    return session


@pytest.mark.spec("R2")
@pytest.mark.parametrize("options", LOOKS, ids=str)
def test_a_conversation_is_exported_from_its_menu(
    open_chat: Callable[..., ChatPage], mei: User, options: dict[str, object]
) -> None:
    session = make_past(mei)
    chat = open_chat(f"/s/{session.id}", **options)
    expect(chat.replies).to_have_count(1)
    if "size" in options:
        chat.page.locator("#open-sidebar").click()
    chat.sessions.first.get_by_role("button").last.click()
    chat.page.get_by_role("menuitem", name=re.compile("^(Export|导出)$")).click()
    dialog = chat.page.get_by_role("dialog", name=re.compile("Export conversation|导出会话"))
    expect(dialog.locator("a")).to_have_count(2)
    chat.page.evaluate("Promise.allSettled(document.getAnimations().map((each) => each.finished))")
    assert list_violations(chat.page) == []
    with chat.page.expect_download() as started:
        dialog.get_by_role("link", name=re.compile("Markdown")).click()
    download = started.value
    assert re.fullmatch(r"jiyi-Trip to 苏州-\d{4}-\d\d-\d\d\.md", download.suggested_filename)
    text = Path(download.path()).read_text("utf-8")
    assert "# Trip to 苏州" in text
    assert "\n\nHave a **good** trip.\n\n- tea\n" in text
    expect(dialog).to_have_count(0)


@pytest.mark.spec("R2")
def test_as_json_with_the_keyboard_alone(open_chat: Callable[..., ChatPage], mei: User) -> None:
    session = make_past(mei)
    chat = open_chat(f"/s/{session.id}", language="en-US")
    expect(chat.replies).to_have_count(1)
    chat.sessions.first.get_by_role("button").last.focus()
    chat.page.keyboard.press("Enter")
    item = chat.page.get_by_role("menuitem", name="Export", exact=True)
    for _step in range(6):
        if item.evaluate("(element) => element === document.activeElement"):
            break
        chat.page.keyboard.press("ArrowDown")
    chat.page.keyboard.press("Enter")
    link = chat.page.get_by_role("link", name=re.compile("^JSON"))
    link.focus()
    with chat.page.expect_download() as started:
        chat.page.keyboard.press("Enter")
    data = json.loads(Path(started.value.path()).read_text("utf-8"))
    assert [said["content"] for said in data["messages"]] == [
        "I am going to *Suzhou*.",
        "Have a **good** trip.\n\n- tea",
    ]


@pytest.mark.spec("C7")
@pytest.mark.parametrize(
    ("language", "said", "told"),
    [
        ("zh-CN", "记住我对虾过敏。", "这是临时会话"),
        ("en-US", "Remember that I am allergic to shrimp.", "This conversation is temporary"),
    ],
)
def test_a_temporary_conversation_promises_nothing(
    open_chat: Callable[..., ChatPage], language: str, said: str, told: str
) -> None:
    chat = open_chat(language=language)
    chat.page.get_by_role("switch").click()
    reply = chat.say(said)
    expect(reply).to_contain_text(told)
    expect(reply).not_to_contain_text(re.compile("I'll remember|我记住了"))
    expect(chat.replies.last.locator(".remembered-note, .commands")).to_have_count(0)
    expect(chat.replies.last.locator(".memory-chip")).not_to_contain_text(re.compile("remembered|记住"))
    assert not AtomicMemory.objects.exists()


@pytest.mark.spec("M6")
@pytest.mark.parametrize("options", LOOKS[:2], ids=str)
def test_an_imported_reply_offers_nothing_that_it_does_not_have(
    open_chat: Callable[..., ChatPage], mei: User, options: dict[str, object]
) -> None:
    session = make_past(mei)
    chat = open_chat(f"/s/{session.id}", **options)
    imported = chat.replies.first
    expect(imported.locator(".markdown")).to_contain_text("Have a good trip.")
    expect(imported.locator('[data-action="favourite"]')).to_have_count(1)
    expect(imported.locator('[data-action="details"], [data-action="regenerate"]')).to_have_count(0)
    chat.say("你好")
    expect(chat.replies.last.locator('[data-action="details"]')).to_have_count(1)
    expect(chat.replies.last.locator('[data-action="regenerate"]')).to_have_count(1)
    chat.page.reload()
    expect(chat.replies.last.locator('[data-action="details"]')).to_have_count(1)
    expect(imported.locator('[data-action="details"]')).to_have_count(0)
    assert list_violations(chat.page) == []
    assert Message.objects.filter(session=session).count() == 4
