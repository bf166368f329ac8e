"""Replies as Markdown: what is rendered, what stays text, what a growing reply leaves alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Request, expect

from tests.e2e.chat_page import ChatPage, read_clipboard, turn_answer
from tests.e2e.panel.conftest import list_violations
from tests.support.scripted_model import Gate, Reply, ScriptedModel

REPLIES = Path(__file__).parent / "markdown"
RICH, HOSTILE = ((REPLIES / f"{name}.md").read_text("utf-8") for name in ("rich", "hostile"))
CONTRAST = """(code) => {
  const luminance = (color) => {
    const [r, g, b] = color.match(/[\\d.]+/g).slice(0, 3).map((c) => c / 255)
      .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = luminance(getComputedStyle(code.closest(".code")).backgroundColor);
  return ["comment", "keyword", "string", "number", "title"].map((kind) => {
    const piece = code.appendChild(document.createElement("span"));
    piece.className = `hljs-${kind}`;
    const [low, high] = [luminance(getComputedStyle(piece).color), ground].sort((a, b) => a - b);
    piece.remove();
    return (high + 0.05) / (low + 0.05);
  });
}"""
LOOKS = {
    "light": {"language": "en-GB"},
    "dark": {"dark": True},
    "phone": {"size": (360, 740), "is_mobile": True, "has_touch": True},
}


@pytest.fixture
def show(chat: ChatPage, model: ScriptedModel) -> Callable[[str], Locator]:
    """Let the model reply with a text, and return it as the page shows it."""

    def reply(text: str) -> Locator:
        model.script(turn_answer(text))
        return chat.say("给我看看")

    return reply


@pytest.mark.parametrize("look", LOOKS)
def test_a_rich_reply_is_readable_on_every_screen(
    open_chat: Callable[..., ChatPage], model: ScriptedModel, look: str
) -> None:
    chat = open_chat(**LOOKS[look])
    model.script(turn_answer(RICH))
    shown = chat.say("Show me")
    expect(shown.locator("math")).to_have_count(2)
    expect(shown.locator(".hljs-keyword").first).to_have_text("def")

    assert not chat.has_sideways_scroll()
    assert list_violations(chat.page) == []
    ratios = shown.locator("pre code").first.evaluate(CONTRAST)
    assert min(ratios) >= 4.5, ratios
    if look == "phone":
        wide = shown.locator(".table, pre").filter(has_text=re.compile("步骤|total_of"))
        assert wide.evaluate_all("(all) => all.map((one) => one.scrollWidth > one.clientWidth)") == [True, True]
        expect(wide.first).to_have_attribute("tabindex", "0")
        expect(wide.last).to_have_attribute("tabindex", "0")


def test_tables_lists_and_tasks(show: Callable[[str], Locator]) -> None:
    shown = show(RICH)
    table = shown.get_by_role("table")
    expect(table.get_by_role("columnheader")).to_have_text(["步骤", "天数", "负责人", "备注", "状态", "结果"])
    expect(table.get_by_role("row")).to_have_count(3)
    expect(table.locator("td").nth(1)).to_have_css("text-align", "right")
    expect(table.locator("strong")).to_have_text("好")
    expect(table.locator("del")).to_have_text("差")

    done = shown.get_by_role("checkbox", name="写下需求")
    expect(done).to_be_checked()
    expect(done).to_be_disabled()
    expect(shown.get_by_role("checkbox", name="估算成本")).not_to_be_checked()
    expect(shown.locator("li.task li")).to_have_text(["人力", "服务器"])
    expect(shown.locator("> ol > li")).to_have_text(["甲", "乙"])
    expect(shown.locator("blockquote li")).to_have_text("里面的列表")
    expect(shown.get_by_role("heading", level=4)).to_have_text(["计划", "任务"])
    expect(shown.locator("p > strong").first).to_have_text("重点：")
    expect(shown.get_by_role("link", name="说明")).to_have_attribute("href", "https://example.org/about")


def test_lines_emphasis_and_addresses_as_models_write_them(show: Callable[[str], Locator]) -> None:
    shown = show(
        "第一行\n第二行 https://example.org/x。\n\n**“你好”**吗？2 * 3 * 4，snake_case_name，5~10 元或 20~30 元\n\n"
        "列表：\n- 一\n- 二\n\n* 三\n\n来源：\n\n[1]: https://example.org/unused"
    )
    expect(shown.locator("p").first.locator("br")).to_have_count(1)
    expect(shown.get_by_role("link").first).to_have_attribute("href", "https://example.org/x")
    expect(shown.locator("p").last).to_have_text("[1]: https://example.org/unused")
    expect(shown.locator("strong")).to_have_text("“你好”")
    expect(shown.locator("em, del")).to_have_count(0)
    expect(shown.locator("> ul")).to_have_count(2)


def test_math_in_its_four_notations_and_money_as_text(show: Callable[[str], Locator]) -> None:
    shown = show(
        "$a_1$ 与 \\(b^2\\)：\n$$\nc = \\frac{1}{2}\n$$\n\\[\nd\n\\]\n\n"
        "It costs $5 and $6, from $5 to US$, 从 $5 到 $6。`$e$`\n\n```sh\necho $HOME $f$\n```\n\n坏的 $\\frac{1$ 式子"
    )
    expect(shown.locator("math")).to_have_count(4)
    expect(shown.locator("math[display=block]")).to_have_count(2)
    expect(shown.locator("mfrac")).to_have_count(1)
    expect(shown).not_to_contain_text("\\frac{1}{2}")  # the source beside a formula is not shown
    expect(shown.locator("> p").nth(-2)).to_have_text("It costs $5 and $6, from $5 to US$, 从 $5 到 $6。$e$")
    expect(shown.locator(".unreadable")).to_have_text("$\\frac{1$")


def test_code_is_highlighted_and_copied_with_the_keyboard(show: Callable[[str], Locator], chat: ChatPage) -> None:
    chat.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    source = "<b>if x:</b>\n    pass  # 没有"
    shown = show(f"```py\n{source}\n```\n\n```nosuch\nif 1\n```\n\n```\nplain\n```")
    first = shown.locator(".code").first
    expect(first.locator(".code-language")).to_have_text("Python")
    expect(first.locator(".hljs-keyword")).to_have_text(["if", "pass"])
    expect(first.locator("code")).to_have_text(source)
    expect(shown.locator(".code-language")).to_have_text(["Python", "nosuch", "代码"])
    expect(shown.locator(".code").nth(1).locator("[class^=hljs]")).to_have_count(0)

    copy = first.get_by_role("button", name="复制")
    copy.focus()
    chat.page.keyboard.press("Enter")
    expect(first.get_by_role("button", name="已复制")).to_be_focused()
    expect(first.get_by_role("status")).to_have_text("已复制")
    assert read_clipboard(chat.page) == source
    expect(copy).to_be_visible()


def test_hostile_markup_and_links_do_nothing(show: Callable[[str], Locator], chat: ChatPage) -> None:
    asked: list[str] = []

    def note(request: Request) -> None:
        asked.append(request.url)

    chat.page.on("request", note)
    shown = show(HOSTILE)
    expect(shown.locator("math").first).to_be_attached()
    expect(shown).to_contain_text("<img src=x onerror=\"document.title='pwned'\"> <svg onload=alert(1)>")
    expect(shown).to_contain_text('<iframe src="https://evil.test/"></iframe>')
    expect(shown).to_contain_text("[a](javascript:alert(1))")
    expect(shown.locator(".unreadable").first).to_have_text("$\\href{javascript:alert(1)}{x}$")
    found = shown.evaluate(
        """(shown) => {
          const all = [...shown.querySelectorAll("*")];
          return {
            tags: [...new Set(all.map((node) => node.localName))].filter((name) =>
              ["img", "svg", "style", "iframe", "form", "input", "script", "object", "b"].includes(name)
              && !all.find((node) => node.localName === name).closest(".icon, .code-copy")),
            attributes: all.flatMap((node) => node.getAttributeNames())
              .filter((name) => name.startsWith("on") || ["id", "style", "src", "srcset", "action"].includes(name)),
            links: all.filter((node) => node.hasAttribute("href") && !node.closest(".icon"))
              .map((node) => [node.getAttribute("href").split(":")[0], node.target, node.rel].join(" ")),
          };
        }"""
    )
    assert found["tags"] == []
    assert found["attributes"] == []
    assert set(found["links"]) == {"https _blank noopener noreferrer nofollow"}
    expect(shown.get_by_role("link", name="pixel")).to_have_attribute("href", "https://evil.test/pixel.png")
    assert "pwned" not in chat.page.title()
    assert not [url for url in asked if "evil.test" in url or url.startswith("data:")]


def test_a_reply_that_nests_without_end_is_shown(show: Callable[[str], Locator]) -> None:
    shown = show(">" * 5_000 + " 深\n\n" + "".join("  " * depth + f"- {depth}\n" for depth in range(60)))
    expect(shown).to_contain_text("深")
    expect(shown).to_contain_text("59")
    assert shown.evaluate("(shown) => shown.querySelectorAll('blockquote, ul').length") <= 16


def test_a_growing_reply_keeps_its_finished_blocks_and_what_is_selected(chat: ChatPage, model: ScriptedModel) -> None:
    """Math and fences that are not finished yet: the one stays text, the other is code already."""
    text = "第一段 **粗**\n\n- 一\n- 二\n\n见[这里][1] $x^2\n\n```python\ndef f():|$$\n```\n\n结束 $y$\n\n[1]: https://example.org/"
    gate = Gate()
    first, rest = turn_answer(text.replace("|$$", "@@")).split("@@")
    model.script(Reply((first, gate, rest)))
    chat.send("写吧")
    shown = chat.replies.last.locator(".markdown")
    expect(shown.locator(".code .hljs-keyword")).to_have_text("def")
    expect(shown.locator("math")).to_have_count(0)
    expect(shown).to_contain_text("$x^2")
    expect(shown).to_contain_text("[这里][1]")
    shown.evaluate(
        """(shown) => {
          window.kept = [...shown.children].slice(0, 2);
          getSelection().selectAllChildren(window.kept[0].querySelector("strong"));
        }"""
    )

    gate.open()
    expect(chat.replies.last).to_have_attribute("aria-busy", "false")
    expect(shown.locator("math")).to_have_count(1)
    expect(shown.get_by_role("link", name="这里")).to_have_attribute("href", "https://example.org/")
    expect(shown.locator("> *")).to_have_count(5)
    assert shown.evaluate("(shown) => window.kept.every((node, index) => shown.children[index] === node)")
