"""The pages as such: log-in, languages, themes, phones, keys, text that means harm, a full disk; and the API's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.sessions.models import Session as LogIn
from playwright.sync_api import BrowserContext, Page, Request, Route, expect

from apps.accounts.models import User
from apps.accounts.services.people import create_token
from apps.conversations.models import Message
from tests.e2e.chat_page import ChatPage, turn_answer
from tests.e2e.conftest import PASSWORD
from tests.support.full_disk import full_disk
from tests.support.scripted_model import ScriptedModel

HOSTILE = "<img src=x onerror=\"document.title='pwned'\"><script>document.title='pwned'</script>\u202egnirts\u202c"


def test_logging_in_and_out(new_context: Callable[..., BrowserContext], mei: User) -> None:
    page = new_context().new_page()
    page.goto("/")
    expect(page).to_have_url(re.compile(r"/login\?next=/$"))
    page.get_by_label("用户名").fill("mei")
    page.get_by_label("密码").fill("wrong")
    page.get_by_role("button", name="登录").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("用户名")).to_have_value("mei")
    page.get_by_label("密码").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.locator("#draft")).to_be_focused()
    expect(page).to_have_url(re.compile(r"\d/$"))

    page.locator("#account").click()
    page.get_by_role("button", name="退出登录").click()
    expect(page).to_have_url(re.compile("/login$"))


def test_a_request_that_logging_out_overtakes_does_not_lead_back(chat: ChatPage) -> None:
    held: list[Route] = []
    chat.page.wait_for_load_state("networkidle")
    chat.page.route(re.compile(r"/chat/sessions\?archived=true"), lambda route: held.append(route))
    with chat.page.expect_request(re.compile(r"/chat/sessions\?archived=true")):
        chat.page.locator("#show-archived").click()

    def refuse_what_is_held(route: Route) -> None:
        response = route.fetch(max_redirects=0)
        with chat.page.expect_response(re.compile(r"/chat/sessions\?archived=true")) as refused:
            held[0].continue_()
        assert refused.value.status == 401
        route.fulfill(response=response)

    chat.page.route(re.compile("/logout$"), refuse_what_is_held)
    chat.page.locator("#account").click()
    chat.page.get_by_role("button", name="退出登录").click()
    expect(chat.page).to_have_url(re.compile("/login$"))


def test_the_page_names_every_module_that_its_script_imports(chat: ChatPage) -> None:
    """So that they come at once, and not one level after the other."""
    expect(chat.sessions).to_have_count(0)
    chat.page.wait_for_load_state("networkidle")
    named = chat.page.locator("link[rel=modulepreload]").evaluate_all("links => links.map(link => link.href)")
    resources = chat.page.evaluate("performance.getEntriesByType('resource').map(({ name }) => name)")
    loaded = [name for name in resources if re.search(r"/static/.*js$", name)]
    classic = chat.page.locator("script[src]").evaluate_all("scripts => scripts.map(({ src }) => src)")
    assert len(named) > 30
    assert sorted(loaded) == sorted({*named, *(src for src in classic if "/static/" in src)})


def test_an_expired_log_in_leads_to_the_log_in_page_and_back(chat: ChatPage) -> None:
    chat.say("你好")
    address = chat.page.url
    chat.page.reload()
    expect(chat.section("strategy")).to_be_visible()  # the last thing the page asks for when it opens
    LogIn.objects.all().delete()
    chat.send("还在吗")
    expect(chat.page).to_have_url(re.compile(r"/login\?next=%2Fs%2F"))
    chat.page.get_by_label("用户名").fill("mei")
    chat.page.get_by_label("密码").fill(PASSWORD)
    chat.page.keyboard.press("Enter")
    expect(chat.page).to_have_url(address)
    expect(chat.replies).to_have_count(1)
    expect(chat.draft).to_have_value("还在吗")


def test_the_language_can_be_changed_and_a_draft_survives_it(chat: ChatPage) -> None:
    expect(chat.page.locator("html")).to_have_attribute("lang", "zh-hans")
    chat.draft.fill("写了一半")
    chat.page.locator("#account").click()
    chat.page.get_by_role("button", name="English").click()
    expect(chat.page.locator("html")).to_have_attribute("lang", "en")
    expect(chat.page.get_by_role("button", name="New conversation")).to_be_visible()
    expect(chat.placeholder.get_by_role("heading")).to_have_text("I remember what you tell me")
    expect(chat.draft).to_have_value("写了一半")
    expect(chat.say("My favourite colour is green.")).to_contain_text("green")
    expect(chat.section("remembered")).to_contain_text("New")


def test_a_suggestion_is_for_the_reader_to_send(chat: ChatPage) -> None:
    chat.placeholder.get_by_role("button", name="小林").click()
    expect(chat.draft).to_have_value(re.compile("我叫小林"))
    expect(chat.draft).to_be_focused()
    assert Message.objects.count() == 0


def test_dark_mode_follows_the_system_and_can_be_chosen(open_chat: Callable[..., ChatPage]) -> None:
    light, dark = "rgb(255, 255, 255)", "rgb(26, 29, 28)"
    chat = open_chat(dark=True)
    conversation = chat.page.locator("#conversation")
    expect(conversation).to_have_css("background-color", dark)
    chat.page.locator("#account").click()
    chat.page.get_by_role("button", name="浅色").click()
    expect(conversation).to_have_css("background-color", light)
    chat.page.reload()
    expect(conversation).to_have_css("background-color", light)
    chat.page.locator("#account").click()
    chat.page.get_by_role("button", name="跟随系统").click()
    expect(conversation).to_have_css("background-color", dark)


def test_a_phone_has_a_drawer_and_a_sheet(open_chat: Callable[..., ChatPage]) -> None:
    chat = open_chat(size=(360, 740), has_touch=True, is_mobile=True)
    expect(chat.details).to_be_hidden()
    expect(chat.page.locator("#sidebar")).not_to_be_in_viewport()
    chat.say("我喜欢的颜色是蓝色，我住在上海，我养了一只叫团子的猫。")
    assert not chat.has_sideways_scroll()

    chat.replies.last.locator(".memory-chip").tap()
    expect(chat.section("remembered")).to_be_in_viewport()
    expect(chat.page.locator("#conversation")).to_have_attribute("inert", "")
    assert not chat.has_sideways_scroll()
    chat.page.keyboard.press("Escape")
    expect(chat.details).to_be_hidden()

    opener = chat.page.get_by_role("button", name="会话", exact=True)
    opener.tap()
    expect(chat.page.locator("#new-session")).to_be_focused()
    chat.sessions.first.get_by_role("link").tap()
    expect(chat.page.locator("#sidebar")).not_to_be_in_viewport()
    chat.draft.tap()
    assert not chat.has_sideways_scroll()


def test_the_page_is_usable_with_the_keyboard(chat: ChatPage) -> None:
    expect(chat.draft).to_be_focused()
    chat.draft.type("第一行")
    chat.page.keyboard.press("Shift+Enter")
    chat.draft.type("第二行")
    expect(chat.draft).to_have_value("第一行\n第二行")
    height = chat.draft.bounding_box()["height"]  # type: ignore[index]
    assert height > 50
    chat.page.keyboard.press("Enter")
    expect(chat.said.locator(".bubble")).to_have_text("第一行\n第二行")
    expect(chat.replies).to_have_count(1)

    chat.page.keyboard.press("Control+Shift+O")
    chat.say("第二次")
    links = chat.sessions.get_by_role("link")
    expect(links).to_have_text(["第二次", "第一行 第二行"])
    links.first.focus()
    chat.page.keyboard.press("ArrowDown")
    expect(links.nth(1)).to_be_focused()
    chat.page.keyboard.press("Enter")
    expect(chat.page.locator("#title")).to_have_text("第一行 第二行")
    expect(chat.draft).to_be_focused()


def test_enter_in_an_input_method_chooses_a_word_and_sends_nothing(chat: ChatPage) -> None:
    expect(chat.draft).to_be_focused()
    protocol = chat.page.context.new_cdp_session(chat.page)
    protocol.send("Input.imeSetComposition", {"text": "nihao", "selectionStart": 5, "selectionEnd": 5})
    chat.page.evaluate(
        """() => document.addEventListener("keydown", (event) => {
             if (event.key === "Enter") document.body.dataset.composing = event.isComposing;
           }, { capture: true, once: true })"""
    )
    chat.page.keyboard.press("Enter")
    expect(chat.page.locator("body")).to_have_attribute("data-composing", "true")
    expect(chat.draft).to_have_value(re.compile("nihao"))
    expect(chat.messages).to_have_count(0)
    chat.draft.fill("你好")
    chat.page.keyboard.press("Enter")
    expect(chat.said.locator(".bubble")).to_have_text("你好")


def test_hostile_text_is_text(chat: ChatPage, model: ScriptedModel) -> None:
    entry = {"category": "fact", "key": HOSTILE[:150], "value": "<b>粗</b>" + "长" * 3000, "source": "user_stated"}
    reply = f"{HOSTILE}\n\n**粗体** [坏链接](javascript:alert(1)) [好链接](https://example.org/a)\n\n" + "W" * 3_000
    model.script(turn_answer(reply, entry))
    shown = chat.say(HOSTILE + "x" * 30_000)

    expect(chat.said.locator(".bubble")).to_have_text(re.compile(re.escape(HOSTILE)))
    expect(shown).to_contain_text("<script>document.title='pwned'</script>")
    expect(shown.locator("strong")).to_have_text("粗体")
    expect(shown.locator("a")).to_have_count(1)
    expect(shown.locator("a")).to_have_attribute("rel", "noopener noreferrer nofollow")
    expect(chat.section("remembered")).to_contain_text("<b>粗</b>")
    assert chat.page.locator("#messages img, #messages script, #details b:text('粗'), #sidebar script").count() == 0
    assert "pwned" not in (chat.page.title().removeprefix(Message.objects.get(role="user").session.title))
    assert not chat.has_sideways_scroll()


@pytest.mark.parametrize(
    ("options", "title"),
    [
        ({"language": "en-GB"}, "No space left"),
        ({"language": "zh-CN", "size": (390, 844), "dark": True}, "存储空间已满"),
    ],
    ids=["en", "zh"],
)
def test_a_page_says_so_in_the_language_of_the_browser_and_trying_again_helps(
    new_context: Callable[..., BrowserContext], mei: User, options: dict[str, Any], title: str
) -> None:
    page = new_context(**options).new_page()
    page.goto("/login")
    page.locator("#id_username").fill(mei.username)
    page.locator("#id_password").fill(PASSWORD)
    with full_disk("django_session"):
        page.locator("form.fields button").click()
        expect(page.get_by_role("heading", level=1)).to_have_text(title)
    page.locator("a.primary").click()
    expect(page.locator("#id_username")).to_be_visible()


LIST_SESSIONS = "#operations-Conversations-list_sessions"


def open_docs(context: BrowserContext) -> Page:
    page = context.new_page()
    page.goto("/api/docs")
    expect(page.locator(LIST_SESSIONS)).to_be_visible()
    return page


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_follows_the_colour_scheme_and_asks_no_other_site(
    new_context: Callable[..., BrowserContext], dark: bool
) -> None:
    requests: list[Request] = []
    context = new_context(dark=dark)
    context.on("request", lambda request: requests.append(request))
    page = open_docs(context)
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, background.removeprefix("rgb(").removesuffix(")").split(", ")))
    assert (brightness < 200) == dark
    expect(page.locator(LIST_SESSIONS)).to_contain_text("List sessions")
    expect(page.locator("#operations-tag-Long-term_memory")).to_contain_text("What is known about a person")
    assert {request.url.split("/")[2] for request in requests if request.url.startswith("http")} == {
        page.url.split("/")[2]
    }


def test_an_operation_is_tried_out_with_a_token(new_context: Callable[..., BrowserContext], mei: User) -> None:
    page = open_docs(new_context())
    page.locator(".auth-wrapper .authorize").click()
    form = page.locator(".auth-container").filter(has_text="(http, Bearer)").locator("form")
    form.get_by_role("textbox").fill(create_token(user=mei))
    form.get_by_role("button", name="Apply credentials").click()
    page.get_by_role("button", name="Close").first.click()

    create = page.locator("#operations-Conversations-create_session")
    create.locator(".opblock-summary-control").click()
    create.get_by_role("button", name="Execute").click()
    expect(create.locator(".live-responses-table .response").first).to_contain_text("201")
    expect(create.locator(".live-responses-table")).to_contain_text("Dinner on Friday")
