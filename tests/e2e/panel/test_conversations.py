"""Conversations in a browser: read, renamed, searched, deleted (M5)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from apps.accounts.models import User
from apps.conversations.models import Message, Session
from apps.memory.models import LongTermMemory
from apps.memory.vectors.messages import prepare_embeddings, store_embeddings
from tests.support.answers import answer
from tests.support.everything import Everything
from tests.support.http_server import ApiClient
from tests.support.scripted_model import ScriptedModel

pytestmark = pytest.mark.spec("M5", "M7")

HOSTILE = "<script>document.title='x'</script>{{ 7 }}]]>\u202e"


def test_a_conversation_is_read_and_renamed(
    open_panel: Callable[..., Page],
    inspect: Callable[..., None],
    alice: ApiClient,
    model: ScriptedModel,
    look: dict[str, Any],
) -> None:
    everything = Everything(alice, model)
    session = str(everything.session)
    entries = [{"category": "fact", "key": "居住地", "value": "上海"}]
    emotion = {"primary": "happy", "confidence": 0.9, "indicators": []}
    model.script(answer(HOSTILE + "长" * 3000, entries=entries, emotion=emotion, topic="搬家"))
    alice.say(session, "我住在上海" + HOSTILE).raise_for_status()
    body = {"title": "行程安排", "fields": {"目的地": "北京", "日期": "周末"}}
    alice.post(f"/chat/sessions/{session}/hitl-forms", json=body).raise_for_status()
    Message.objects.filter(content="第二句").update(is_collected=True)
    page = open_panel(alice.user, f"/admin/conversations/session/{session}/change/", **look)
    expect(page.locator(".said")).to_have_count(10)
    expect(page.get_by_role("link", name="居住地")).to_be_visible()
    inspect(page, "session")
    page.locator("#title").fill("搬家 <b>")
    page.keyboard.press("Enter")
    expect(page.locator("#title")).to_have_value("搬家 <b>")
    assert Session.objects.get(id=session).title == "搬家 <b>"
    page.locator(".said a[href*='/chat/turn/']").last.click()
    expect(page).to_have_url(re.compile("/chat/turn/"))


def test_messages_are_searched_and_a_conversation_deleted(
    open_panel: Callable[..., Page], inspect: Callable[..., None], alice: ApiClient, staff: User, model: ScriptedModel
) -> None:
    session = Everything(alice, model).session
    store_embeddings(prepare_embeddings(Message.objects.all()))
    page = open_panel(staff, "/admin/conversations/session/", language="en-US")
    inspect(page, "sessions")
    page.goto(f"/admin/conversations/message/?q=水果&user__id__exact={alice.user.pk}")
    inspect(page, "messages")
    expect(page.locator("#result_list .said-start").first).to_contain_text("水果")
    page.goto(f"/admin/conversations/session/{session}/delete/")
    inspect(page, "delete")
    page.get_by_role("button", name="Delete").click()
    expect(page).to_have_url(re.compile("/conversations/session/$"))
    assert not Session.objects.filter(id=session).exists()
    assert LongTermMemory.objects.exists()
