"""What carried weight in a reply is shown, and counted, apart from what else stood in its prompt."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.chat.models import Turn
from apps.memory.entries import create_memory
from tests.chat.test_weight import CASES
from tests.e2e.chat_page import ChatPage
from tests.e2e.panel.conftest import LOOKS, list_violations

pytestmark = pytest.mark.spec("K5", "M6")

WORDS = {
    "zh-CN": ("召回 1 条", "提示词里另有 2 条"),
    "en-US": ("1 recalled", "2 more that were in the prompt"),
}


def fill(user: User) -> None:
    """Three memories in the prompt of the last turn, of which one answers the message."""
    turn = Turn.objects.get()
    used = []
    for key, match in (("喜欢的颜色", 0.9), ("allergies", 0.3), ("work", 0.0)):
        memory, _action = create_memory(user=user, category="fact", key=key, value="蓝色", now=timezone.now())
        figures = {"keyword_score": match, "semantic_score": 0.2, "confidence": 1.0, "recency_score": 1.0}
        used.append({"id": str(memory.pk), "kind": "long_term", "score": 0.5 + match, **figures})
    turn.memories_used = used
    turn.save()


@pytest.mark.parametrize("look", ["zh", "phone", "night"])
def test_what_carried_weight_is_shown_and_the_rest_folded(
    open_chat: Callable[..., ChatPage], mei: User, look: str
) -> None:
    options = LOOKS[look]
    badge, more = WORDS[options["language"]]
    chat = open_chat(**options)
    chat.say("颜色？")
    fill(mei)
    chat.page.reload()
    details = chat.replies.last.get_by_role("button", name=badge)
    expect(details).to_be_visible()  # before the turn itself was asked for
    if not chat.section("recalled").is_visible():
        details.click()
    cards = chat.section("recalled").locator(".memory-card")
    expect(cards.filter(visible=True)).to_have_count(1)
    fold = chat.section("recalled").get_by_text(more)
    fold.focus()
    chat.page.keyboard.press("Enter")
    expect(cards.filter(visible=True)).to_have_count(3)
    expect(details).to_have_accessible_name(badge)
    assert not chat.has_sideways_scroll()
    assert list_violations(chat.page) == []


def test_the_page_weighs_as_the_server_does(chat: ChatPage) -> None:
    weigh = """async (cases) => {
        const { splitByWeight } = await import(performance.getEntriesByType("resource")
            .map(({ name }) => name).find((name) => /chat\\/weight[.\\w]*\\.js$/.test(name)));
        return cases.map((used) => splitByWeight(used)[0].map(({ id }) => id));
    }"""
    assert chat.page.evaluate(weigh, [used for _name, used, _weighty in CASES]) == [case[2] for case in CASES]
