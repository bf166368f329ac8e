"""Talking: sending, streaming, stopping, failing and trying again, another reply, editing, history, favourites."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone
from playwright.sync_api import Route, expect

from apps.accounts.models import User
from apps.conversations.models import Message, Session
from apps.memory.models import LongTermMemory
from tests.e2e.chat_page import ChatPage, talk, turn_answer
from tests.support.scripted_model import Gate, Reply, ScriptedModel, refuse_with


@pytest.mark.journey
@pytest.mark.spec("C2", "K2", "L2")
def test_what_is_said_in_one_session_is_remembered_in_the_next(chat: ChatPage) -> None:
    chat.say("你好！我喜欢的颜色是蓝色。")
    chat.page.keyboard.press("Control+Shift+O")
    expect(chat.placeholder.get_by_role("heading")).to_have_text("你说的，我都记得")

    expect(chat.say("我喜欢的颜色是什么？")).to_contain_text("蓝色")

    expect(chat.sessions).to_have_count(2)
    recalled = chat.section("recalled").locator(".memory-card")
    expect(recalled.first.locator(".memory-text")).to_have_text(re.compile("颜色.*蓝色"))
    expect(chat.component("keyword_score").locator("b")).to_have_text("1.00")
    expect(chat.component("category_boost").locator("b")).to_have_text("1.50")
    bar = chat.component("keyword_score").get_by_role("meter")
    expect(bar).to_have_attribute("aria-valuenow", "1")
    assert bar.bounding_box()["width"] > 40  # type: ignore[index]
    expect(chat.replies.last.locator(".memory-chip")).to_have_text("召回 1 条")


@pytest.mark.spec("C6")
def test_leaving_during_a_reply_and_coming_back_shows_the_stored_one(chat: ChatPage, model: ScriptedModel) -> None:
    gate = Gate()
    first, rest = turn_answer("春眠不觉晓，处处闻啼鸟。").split("，处处", 1)
    model.script(Reply((first, gate, "，处处" + rest)))
    chat.send("背一首诗")
    expect(chat.replies.last.locator(".markdown")).to_have_text("春眠不觉晓")

    chat.page.reload()
    expect(chat.said).to_have_text(re.compile("背一首诗"))
    expect(chat.page.locator(".thinking")).to_be_visible()
    gate.open()
    expect(chat.replies.locator(".markdown")).to_have_text("春眠不觉晓，处处闻啼鸟。")
    expect(chat.page.locator(".thinking")).to_have_count(0)


@pytest.mark.spec("C6")
def test_another_session_can_be_visited_during_a_reply(chat: ChatPage, model: ScriptedModel) -> None:
    gate = Gate()
    first, rest = turn_answer("春眠不觉晓，处处闻啼鸟。").split("，处处", 1)
    model.script(Reply((first, gate, "，处处" + rest)))
    chat.send("背一首诗")
    expect(chat.replies.last.locator(".markdown")).to_have_text("春眠不觉晓")

    chat.page.keyboard.press("Control+Shift+O")
    expect(chat.messages).to_have_count(0)
    expect(chat.draft).to_be_focused()
    chat.sessions.get_by_role("link").click()
    expect(chat.replies.last.locator(".markdown")).to_have_text("春眠不觉晓")
    gate.open()
    expect(chat.replies.last.locator(".markdown")).to_have_text("春眠不觉晓，处处闻啼鸟。")


@pytest.mark.journey
@pytest.mark.spec("C6")
def test_a_message_that_got_no_reply_says_why_and_can_be_tried_again(chat: ChatPage, model: ScriptedModel) -> None:
    model.script(refuse_with(401))
    chat.send("你好")
    failure = chat.page.get_by_role("alert")
    expect(failure).to_contain_text("没有回复。 模型服务器拒绝了请求。")
    expect(chat.replies).to_have_count(0)

    chat.page.reload()  # the failure is the server's knowledge, not the page's
    expect(failure).to_contain_text("没有回复。")
    model.script(turn_answer("我在。"))
    failure.get_by_role("button", name="重试").click()

    expect(chat.replies.locator(".markdown")).to_have_text("我在。")
    expect(failure).to_have_count(0)
    expect(chat.stored_replies).to_have_count(1)
    assert [(m.role, m.status) for m in Message.objects.order_by("position")] == [
        ("user", "complete"),
        ("assistant", "complete"),
    ]


@pytest.mark.spec("C6")
def test_a_reply_cut_off_in_the_middle_is_taken_back(chat: ChatPage, model: ScriptedModel) -> None:
    first = turn_answer("春眠不觉晓，处处闻啼鸟。").split("，处处", 1)[0]
    model.script(Reply((first,), finish_reason=None))
    chat.send("背一首诗")
    expect(chat.page.get_by_role("alert")).to_contain_text("模型的回复中断了。")
    expect(chat.replies).to_have_count(0)
    expect(chat.said).to_have_count(1)


def test_without_a_network_a_message_waits_and_is_sent_once(chat: ChatPage) -> None:
    chat.say("你好")
    chat.page.context.set_offline(True)
    expect(chat.page.locator("#offline-banner")).to_be_visible()
    chat.send("我住在上海。")
    failure = chat.page.get_by_role("alert")
    expect(failure).to_contain_text("未发送。 无法连接服务器。")

    chat.page.context.set_offline(False)
    failure.get_by_role("button", name="重试").click()
    expect(chat.replies.last.locator(".markdown")).to_contain_text("上海")
    expect(chat.page.locator("#offline-banner")).to_be_hidden()
    assert Message.objects.filter(content="我住在上海。").count() == 1


def test_sending_again_what_did_arrive_stores_it_once(chat: ChatPage) -> None:
    """The server got the message, and the network went before it could say so: the same key finds the first outcome."""
    chat.say("你好")
    keys = []

    def lose_the_answer(route: Route) -> None:
        keys.append(route.request.headers["idempotency-key"])
        if len(keys) == 1:
            route.fetch()
            route.abort("connectionreset")
        else:
            route.continue_()

    chat.page.route(re.compile("/messages$"), lose_the_answer)
    chat.send("我住在上海。")
    chat.page.get_by_role("alert").get_by_role("button", name="重试").click()

    expect(chat.replies.last.locator(".markdown")).to_contain_text("上海")
    assert len(keys) == 2
    assert keys[0] == keys[1]
    assert Message.objects.filter(content="我住在上海。").count() == 1


def test_a_refused_message_can_be_edited(chat: ChatPage) -> None:
    answer = {"error": {"code": "throttled", "message": "Slow down.", "fields": {}}}
    chat.page.route(re.compile("/messages$"), lambda route: route.fulfill(status=429, body=json.dumps(answer)))
    chat.send("你好")
    chat.page.get_by_role("button", name="编辑").click()
    expect(chat.draft).to_have_value("你好")
    expect(chat.messages).to_have_count(0)


@pytest.mark.spec("C1")
def test_favourites_are_kept_and_can_be_seen_alone(chat: ChatPage) -> None:
    chat.say("你好")
    chat.say("我住在上海。")
    star = chat.replies.first.get_by_role("button", name="收藏")
    star.click()
    expect(star).to_have_attribute("aria-pressed", "true")
    chat.page.reload()
    expect(chat.replies.first.get_by_role("button", name="收藏")).to_have_attribute("aria-pressed", "true")

    chat.page.get_by_role("button", name="只看收藏").click()
    expect(chat.messages).to_have_count(1)
    assert list(Message.objects.filter(is_collected=True).values_list("role", flat=True)) == ["assistant"]
    chat.page.get_by_role("button", name="只看收藏").click()
    expect(chat.messages).to_have_count(4)


def test_a_session_is_deleted_after_asking(chat: ChatPage) -> None:
    chat.say("你好")
    chat.sessions.first.get_by_role("button").click()
    chat.page.get_by_role("menuitem", name="删除").click()
    chat.page.locator("#confirm").get_by_role("button", name="取消").click()
    assert Session.objects.count() == 1

    chat.sessions.first.get_by_role("button").click()
    chat.page.get_by_role("menuitem", name="删除").click()
    chat.page.locator("#confirm").get_by_role("button", name="删除").click()
    expect(chat.sessions).to_have_count(0)
    expect(chat.messages).to_have_count(0)
    assert Session.objects.count() == 0
    assert chat.page.url.endswith("/")


def test_a_long_history_opens_at_its_end_and_grows_upwards(open_chat: Callable[..., ChatPage], mei: User) -> None:
    session = talk(mei, "很长的对话", *(f"第 {number} 条" for number in range(1, 121)))
    chat = open_chat(f"/s/{session.id}")
    expect(chat.messages).to_have_count(50)
    expect(chat.replies.last.locator(".markdown")).to_have_text("第 120 条")
    expect(chat.replies.last).to_be_in_viewport()

    first = chat.messages.first
    first.scroll_into_view_if_needed()
    expect(chat.messages).to_have_count(100)
    chat.page.get_by_role("button", name="最新").click()
    expect(chat.replies.last).to_be_in_viewport()
    chat.messages.first.scroll_into_view_if_needed()
    expect(chat.messages).to_have_count(120)
    numbers = [int(text) for text in re.findall(r"第 (\d+) 条", chat.page.locator("#messages").inner_text())]
    assert numbers == list(range(1, 121))


def test_days_that_alternate_are_all_shown_and_nothing_is_left_loading(
    open_chat: Callable[..., ChatPage], mei: User
) -> None:
    """As after a replay: what was said is of an earlier day than the replies between."""
    session = Session.objects.create(user=mei, title="重放", last_position=6)
    days = [datetime(2026, 3, 1, 12, tzinfo=UTC), datetime(2026, 3, 2, 12, tzinfo=UTC)]
    for position in range(6):
        Message.objects.create(
            session=session, user=mei, role=["user", "assistant"][position % 2], content=f"第{position}句",
            position=position + 1, create_time=days[position % 2],
        )  # fmt: skip
    chat = open_chat(f"/s/{session.id}")
    expect(chat.page.locator("#messages .day")).to_have_count(6)
    expect(chat.page.locator("#messages .skeleton")).to_have_count(0)


def test_sessions_are_listed_by_day_and_page_by_page(open_chat: Callable[..., ChatPage], mei: User) -> None:
    now = timezone.now()
    ages = [timedelta(0)] * 2 + [timedelta(days=1)] * 50 + [timedelta(days=3)] * 3 + [timedelta(days=400)] * 5
    Session.objects.bulk_create(
        Session(user=mei, title=f"会话 {number}", last_active_at=now - age - timedelta(microseconds=number))
        for number, age in enumerate(ages)
    )
    chat = open_chat()
    expect(chat.page.locator("#sessions h2").nth(1)).to_have_text("昨天")
    expect(chat.sessions).to_have_count(40)
    chat.sessions.last.scroll_into_view_if_needed()
    expect(chat.sessions).to_have_count(60)
    month = timezone.localtime(now - timedelta(days=400), ZoneInfo("Asia/Shanghai"))
    headings = ["今天", "昨天", "过去 7 天", f"{month.year}年{month.month}月"]
    expect(chat.page.locator("#sessions h2")).to_have_text(headings)
    titles = chat.sessions.get_by_role("link").all_inner_texts()
    assert titles == [f"会话 {number}" for number in range(60)]


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
