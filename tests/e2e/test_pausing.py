"""Pausing what is remembered on the chat page: here, in a space, everywhere; with the keyboard and on a phone (D5).

And muting a memory where it was recalled (L10).
"""

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
from apps.memory.entries import create_memory
from apps.memory.models import LongTermMemory
from tests.e2e.chat_page import ChatPage
from tests.e2e.panel.conftest import list_violations
from tests.support.http_server import ApiClient, HttpServer

pytestmark = pytest.mark.spec("D5")

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
