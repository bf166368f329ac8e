"""The context inspector in a browser: one turn from the prompt to what came of it (M6)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from apps.accounts.services.people import update_settings
from apps.memory.deletion import delete_memories
from apps.memory.entries import create_memory
from apps.memory.kinds import ATOMIC, LONG_TERM
from apps.memory.lifecycle import create_atomic_memory, update_memory
from apps.memory.models import AtomicMemory
from tests.support.answers import answer
from tests.support.everything import Everything
from tests.support.http_server import ApiClient
from tests.support.scripted_model import ScriptedModel, call, call_tools

pytestmark = pytest.mark.spec("M6", "M7")

HOSTILE = "<script>document.title='x'</script>{{ 7 }}]]>\u202e"


def test_a_turn_is_looked_into(
    open_panel: Callable[..., Page],
    inspect: Callable[..., None],
    alice: ApiClient,
    model: ScriptedModel,
    look: dict[str, Any],
) -> None:
    everything = Everything(alice, model)
    emotion = {"primary": "happy", "confidence": 0.8, "indicators": ["好"]}
    model.script(answer(HOSTILE + "长" * 400, emotion=emotion, variables={"预算": 3000}))
    alice.say(str(everything.session), "颜色？" + HOSTILE).raise_for_status()
    update_memory(
        LONG_TERM, user=alice.user, memory_id=everything.memory.id, changes={"value": "红色"}, now=timezone.now()
    )
    delete_memories(LONG_TERM, user=alice.user, ids=[], now=timezone.now())
    page = open_panel(alice.user, f"/admin/chat/turn/{everything.reply}/change/", **look)
    expect(page.locator(".piece__edited")).to_have_count(1)
    page.locator(".piece__edited summary").click()
    expect(page.locator(".piece__edited .difference ins")).to_contain_text("红色")
    page.locator(".used summary").first.click()
    inspect(page, "turn")
    page.keyboard.press("j")
    expect(page.locator(".bubble--user")).to_contain_text("document.title='x'")
    expect(page.locator(".bubble--assistant")).to_contain_text("{{ 7 }}]]>")
    expect(page).not_to_have_title("x")
    page.keyboard.press("k")
    expect(page).to_have_url(re.compile(everything.reply))


@pytest.mark.spec("T1")
def test_tool_calls_are_looked_into(
    open_panel: Callable[..., Page],
    inspect: Callable[..., None],
    alice: ApiClient,
    model: ScriptedModel,
    look: dict[str, Any],
) -> None:
    now = timezone.now()
    update_settings(user=alice.user, changes={"memory.enable_agentic_search": True})
    memory, _action = create_memory(user=alice.user, category="fact", key="allergy", value=HOSTILE, now=now)
    create_atomic_memory(user=alice.user, content="The allergy test was in May.", now=now)
    calls = (
        call("search_memories", {"keyword": "allergy", "time_range": {"since": "2020-01-01"}}, id="a"),
        call("search_memories", {"keyword": "paella"}, id="b"),
        call("createContext", {"title": "Dinner", "content": "For six. " * 60}, id="c"),
        call("fetchContext", {"id": "x"}, id="d"),
    )
    model.script(call_tools(*calls), answer("No."))
    turn = alice.say(alice.new_session(), "Shall I order paella?").raise_for_status().json()
    update_memory(LONG_TERM, user=alice.user, memory_id=memory.id, changes={"value": "nuts"}, now=timezone.now())
    delete_memories(ATOMIC, user=alice.user, ids=[AtomicMemory.objects.get().id], now=timezone.now())

    page = open_panel(alice.user, f"/admin/chat/turn/{turn['assistant_message']['id']}/change/", **look)
    shown = page.locator("section[aria-labelledby=calls-title] .call")
    expect(shown).to_have_count(4)
    expect(shown.nth(0)).to_contain_text("2020-01-01")
    expect(shown.nth(0).locator(".piece")).to_have_count(2)
    expect(shown.nth(1).locator("q")).to_have_text("paella")
    shown.nth(0).locator(".piece__edited summary").click()
    expect(shown.nth(0).locator(".difference ins")).to_contain_text("nuts")
    expect(page).not_to_have_title("x")
    inspect(page, "tool-calls")
