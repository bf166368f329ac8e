"""What can be kept of a conversation, what a temporary one keeps, and what an imported one does not have."""

from __future__ import annotations

from collections.abc import Callable

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
