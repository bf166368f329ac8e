"""What is kept of a conversation, remembering paused and a memory muted (D5, L10), on the chat page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.accounts.models import Space, User
from apps.accounts.selectors import get_settings
from apps.accounts.spaces import create_space
from apps.conversations.models import Message, Session
from apps.conversations.recordings import record_turns
from apps.conversations.types import RecordedMessage
from apps.memory.entries import create_memory
from apps.memory.models import AtomicMemory, LongTermMemory
from tests.e2e.chat_page import ChatPage
from tests.e2e.panel.conftest import list_violations
from tests.support.http_server import ApiClient, HttpServer

LOOKS = [
    {"language": "zh-CN"},
    {"language": "en-US", "dark": True, "size": (390, 844)},
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


@pytest.mark.spec("C7")
def test_a_temporary_conversation_promises_nothing(chat: ChatPage) -> None:
    chat.page.get_by_role("switch", name="临时会话").click()
    reply = chat.say("记住我对虾过敏。")
    expect(reply).to_contain_text("这是临时会话")
    expect(reply).not_to_contain_text("我记住了")
    expect(chat.page.locator("#temporary-badge")).to_be_visible()
    expect(chat.replies.last.locator(".remembered-note, .commands")).to_have_count(0)
    expect(chat.replies.last.locator(".memory-chip")).not_to_contain_text("记住")
    assert Session.objects.get().temporary is True
    assert not AtomicMemory.objects.exists()


@pytest.mark.spec("M6")
@pytest.mark.parametrize("options", LOOKS, ids=str)
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


WORDS: dict[str, dict[str, str]] = {
    "zh-CN": {
        "here": "在本会话中暂停记忆", "space": "在“Novel”中暂停记忆", "everywhere": "在所有地方暂停记忆",
        "paused_here": "本会话已暂停记忆", "paused_space": "“Novel”已暂停记忆",
        "paused_everywhere": "已在所有地方暂停记忆",
        "resume": "恢复", "said": "记住我对虾过敏。", "refused": "记忆已暂停，没有保存：", "welcome": "记忆已暂停",
        "kept": "记住我对坚果过敏。",
    },
    "en-GB": {
        "here": "Pause remembering in this conversation", "space": "Pause remembering in “Novel”",
        "everywhere": "Pause remembering everywhere", "paused_here": "paused in this conversation",
        "paused_space": "paused in “Novel”", "paused_everywhere": "paused everywhere", "resume": "Resume",
        "said": "Remember that I am allergic to shrimp.", "refused": "Not stored, as remembering is paused:",
        "welcome": "Remembering is paused", "kept": "Remember that I am allergic to nuts.",
    },
}  # fmt: skip


def choose(chat: ChatPage, label: str) -> None:
    chat.page.locator("#pause").click()
    chat.page.get_by_role("menuitem", name=label, exact=True).click()


@pytest.mark.parametrize(("language", "size", "dark"), [("en-GB", (1280, 800), False), ("zh-CN", (390, 760), True)])
@pytest.mark.spec("D5")
def test_remembering_is_paused_and_resumed(
    open_chat: Callable[..., ChatPage], mei: User, language: str, size: tuple[int, int], dark: bool
) -> None:
    words = WORDS[language]
    space = create_space(user=mei, name="Novel", kind="project")
    chat = open_chat(language=language, size=size, dark=dark, path=f"/?space={space.id}")
    banner = chat.page.locator("#pause-banner")
    expect(chat.page.locator("#pause")).to_be_visible()
    expect(banner).to_be_hidden()

    # A new conversation, with the keyboard alone.
    chat.page.locator("#pause").focus()
    chat.page.keyboard.press("Enter")
    chat.page.keyboard.press("Enter")
    expect(banner).to_contain_text(words["paused_here"])
    expect(chat.placeholder.locator("h2")).to_have_text(words["welcome"])
    expect(chat.page.locator("#pause")).to_have_attribute("aria-pressed", "true")
    assert not chat.has_sideways_scroll()
    assert list_violations(chat.page) == []
    chat.say(words["said"])
    expect(chat.messages.locator(".command")).to_contain_text(words["refused"])
    assert set(Message.objects.values_list("paused_by", flat=True)) == {"session"}
    assert Session.objects.get().paused is True

    # Each of the three by itself; the widest is told, and resumed first.
    choose(chat, words["space"])
    expect(banner).to_contain_text(words["paused_space"])
    choose(chat, words["everywhere"])
    expect(banner).to_contain_text(words["paused_everywhere"])
    assert get_settings(mei).paused is True
    assert Space.objects.get().paused is True
    chat.page.reload()
    expect(banner).to_contain_text(words["paused_everywhere"])
    for left in ("paused_space", "paused_here"):
        banner.get_by_role("button", name=words["resume"]).click()
        expect(banner).to_contain_text(words[left])
    banner.get_by_role("button", name=words["resume"]).click()
    expect(banner).to_be_hidden()
    expect(chat.page.locator("#pause")).to_be_focused()
    # What is said now is remembered; what was said before keeps its mark.
    chat.say(words["kept"])
    expect(chat.said.locator(".paused-sign")).to_have_count(1)
    assert list(Message.objects.filter(role="user").order_by("position").values_list("paused_by", flat=True)) == [
        "session",
        "",
    ]


@pytest.mark.spec("D5")
def test_what_is_paused_elsewhere_is_seen_after_the_next_reply(
    open_chat: Callable[..., ChatPage], mei: User, http_server: HttpServer
) -> None:
    chat = open_chat(language="en-GB")
    chat.say("Hello.")
    expect(chat.page.locator("#pause-banner")).to_be_hidden()
    with ApiClient(http_server, mei) as client:
        client.patch("/memory/settings", json={"memory.paused": True}).raise_for_status()
    chat.say("Hello again.")
    expect(chat.page.locator("#pause-banner")).to_contain_text("paused everywhere")


@pytest.mark.spec("L10")
@pytest.mark.spec("D5")
def test_a_recalled_memory_is_muted_and_unmuted(open_chat: Callable[..., ChatPage], mei: User) -> None:
    create_memory(user=mei, category="fact", key="home", value="York", now=timezone.now())
    chat = open_chat(language="en-GB")
    chat.say("Where is my home?")

    def find() -> Any:
        return chat.section("recalled").locator("[data-action=mute]")

    expect(find()).to_have_text("Mute")
    find().click()
    expect(find()).to_have_text("Unmute")
    assert LongTermMemory.objects.get().muted is True
    chat.page.reload()
    expect(find()).to_have_text("Unmute")
    find().click()
    expect(find()).to_have_text("Mute")
    assert LongTermMemory.objects.get().muted is False
