"""The context inspector in a browser: one turn from the prompt to what came of it (M6)."""

from __future__ import annotations

import re

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.memory.deletion import delete_memories
from apps.memory.kinds import LONG_TERM
from apps.memory.lifecycle import update_memory
from tests.e2e.panel.conftest import Inspect, OpenPanel
from tests.support.answers import answer
from tests.support.everything import Everything
from tests.support.http_server import ApiClient
from tests.support.scripted_model import ScriptedModel

pytestmark = pytest.mark.spec("M6", "M7")

HOSTILE = "<script>document.title='x'</script>{{ 7 }}]]>\u202e"


def test_a_turn_is_looked_into(open_panel: OpenPanel, inspect: Inspect, alice: ApiClient, model: ScriptedModel) -> None:
    everything = Everything(alice, model)
    emotion = {"primary": "happy", "confidence": 0.8, "indicators": ["好"]}
    model.script(answer(HOSTILE + "长" * 400, emotion=emotion, variables={"预算": 3000}))
    alice.say(str(everything.session), "颜色？" + HOSTILE).raise_for_status()
    update_memory(
        LONG_TERM, user=alice.user, memory_id=everything.memory.id, changes={"value": "红色"}, now=timezone.now()
    )
    delete_memories(LONG_TERM, user=alice.user, ids=[], now=timezone.now())
    page = open_panel(alice.user, f"/admin/chat/turn/{everything.reply}/change/", size=(390, 844))
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
