"""Stopping a reply, asking for another one, editing a message, and undoing that."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Route, expect

from apps.conversations.models import Message
from apps.memory.models import LongTermMemory
from tests.e2e.chat_page import ChatPage, turn_answer
from tests.support.scripted_model import Gate, Reply, ScriptedModel, refuse_with

POEM = turn_answer("春眠不觉晓，处处闻啼鸟。")
FIRST, REST = POEM.split("，处处", 1)
BERLIN = {"category": "fact", "key": "city", "value": "Berlin", "confidence": 0.9}


@pytest.mark.journey
@pytest.mark.spec("C6")
@pytest.mark.parametrize("key", [False, pytest.param(True, marks=pytest.mark.long)], ids=["button", "Escape"])
def test_a_reply_is_stopped_and_what_came_is_kept(chat: ChatPage, model: ScriptedModel, key: bool) -> None:
    model.script(Reply((FIRST, Gate(), "，处处" + REST)), turn_answer("处处闻啼鸟。"))
    chat.send("背一首诗")
    expect(chat.replies.last.locator(".markdown")).to_have_text("春眠不觉晓")
    if key:
        chat.draft.press("Escape")
    else:
        chat.page.get_by_role("button", name="停止").click()

    note = chat.replies.last.locator(".stopped-note")
    expect(note).to_contain_text("你停止了这条回复")
    expect(chat.send_button).to_be_visible()
    assert Message.objects.get(role="assistant").content == "春眠不觉晓"
    chat.page.reload()
    expect(chat.replies.last.locator(".stopped-note")).to_be_visible()

    chat.replies.last.get_by_role("button", name="继续").click()
    expect(chat.replies.last.locator(".markdown")).to_have_text("处处闻啼鸟。")
    expect(chat.page.locator('[data-action="continue"]')).to_have_count(0)


def test_a_reply_is_stopped_while_its_message_is_on_its_way(chat: ChatPage, model: ScriptedModel) -> None:
    held: list[Route] = []
    model.script(Reply((Gate(), POEM)), turn_answer("好的"))
    chat.page.route(re.compile("/messages$"), lambda route: held.append(route))
    with chat.page.expect_request(re.compile("/messages$")):
        chat.send("背一首诗")
    chat.page.get_by_role("button", name="停止").click()
    held[0].continue_()
    failure = chat.said.last.get_by_role("alert")
    expect(failure).to_contain_text("你在回复开始之前停止了它")
    failure.get_by_role("button", name="重试").click()  # which stops nothing
    expect(chat.replies.locator(".markdown")).to_have_text("好的")


def test_the_old_reply_comes_back_where_there_is_no_other(chat: ChatPage, model: ScriptedModel) -> None:
    model.script(turn_answer("旧诗"), refuse_with(400, "no"))
    chat.say("背一首诗")
    chat.replies.last.hover()
    chat.replies.last.get_by_role("button", name="重新生成").click()
    expect(chat.page.locator("#toasts")).to_contain_text("模型")
    expect(chat.replies.last.locator(".markdown")).to_have_text("旧诗")


@pytest.mark.journey
@pytest.mark.spec("L7")
@pytest.mark.parametrize(
    ("language", "size", "dark", "words"),
    [
        ("zh-CN", (1440, 900), False, ("编辑并重新发送", "撤销编辑")),
        pytest.param("en-GB", (390, 844), True, ("Edit and resend", "Undo edit"), marks=pytest.mark.long),
    ],
    ids=["Chinese", "English on a dark phone"],
)
def test_a_message_is_edited_with_the_keyboard_and_the_edit_undone(
    open_chat: Callable[..., ChatPage],
    model: ScriptedModel,
    language: str,
    size: tuple[int, int],
    dark: bool,
    words: tuple[str, str],
) -> None:
    edit, undo = words
    chat = open_chat(language=language, size=size, dark=dark)
    model.script(turn_answer("Berlin it is.", BERLIN), turn_answer("later"), turn_answer("Hello again."))
    chat.say("I live in Berlin")
    chat.say("And then?")
    assert LongTermMemory.objects.get(status="active").value == "Berlin"

    chat.said.first.hover()
    chat.said.first.get_by_role("button", name=edit).press("Enter")
    field = chat.page.get_by_role("textbox", name=edit)
    expect(field).to_be_focused()
    field.press("Escape")
    expect(chat.said.first.get_by_role("button", name=edit)).to_be_focused()
    chat.page.keyboard.press("Enter")
    field.fill("I live somewhere else")
    assert not chat.has_sideways_scroll()
    field.press("Enter")

    expect(chat.replies.locator(".markdown")).to_have_text("Hello again.")
    expect(chat.said).to_have_count(1)
    assert not LongTermMemory.objects.filter(status="active").exists()
    chat.page.reload()
    button = chat.said.first.get_by_role("button", name=undo)
    expect(button).to_be_visible()
    button.press("Enter")

    expect(chat.said).to_have_count(2)
    expect(chat.said.first).to_contain_text("I live in Berlin")
    expect(chat.replies.last.locator(".markdown")).to_have_text("later")
    assert LongTermMemory.objects.get(status="active").value == "Berlin"


def test_an_edit_that_gets_no_reply_can_be_tried_again(chat: ChatPage, model: ScriptedModel) -> None:
    model.script(turn_answer("旧"), refuse_with(400, "no"), turn_answer("新"))
    chat.say("你好")
    chat.said.first.hover()
    chat.said.first.get_by_role("button", name="编辑并重新发送").click()
    chat.page.get_by_role("textbox", name="编辑并重新发送").fill("早上好")
    chat.page.get_by_role("button", name="发送", exact=True).first.click()
    expect(chat.said).to_have_text(re.compile("早上好"))
    chat.said.last.get_by_role("button", name="重试").click()
    expect(chat.replies.locator(".markdown")).to_have_text("新")
