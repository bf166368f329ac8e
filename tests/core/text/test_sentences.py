"""Where sentences end, and what of a message clients have put there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.text.sentences import (
    cut_at_sentence,
    cut_client_blocks,
    drop_speakers,
    find_client_blocks,
    split_sentences,
)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("你好。我住在上海！真的吗？", ["你好。", "我住在上海！", "真的吗？"]),
        ("“好的。”他说。", ["“好的。”", "他说。"]),
        ("价格是3.5元。It cost $3.50! Really?", ["价格是3.5元。", "It cost $3.50! ", "Really?"]),
        ("我的导师叫Dr. Lindqvist. 他很严。", ["我的导师叫Dr. Lindqvist. ", "他很严。"]),
        ("我缺维生素C. 在补。", ["我缺维生素C. ", "在补。"]),
        ("I met Dr. Smith in the U.S. today. He left.", ["I met Dr. Smith in the U.S. today. ", "He left."]),
        ("See Art. 6 GDPR. Done", ["See Art. 6 GDPR. ", "Done"]),
        ("第一行\n\n 第二行", ["第一行\n\n ", "第二行"]),
        ("see example.org/a?b=1 now", ["see example.org/a?b=1 now"]),
        ("", []),
    ],
)
def test_sentences_of_both_languages(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


def test_a_kept_span_is_in_one_sentence() -> None:
    text = "甲。乙。丙。"
    assert split_sentences(text, keep=[(1, 4)]) == ["甲。乙。", "丙。"]
    assert cut_at_sentence(text, 3, keep=[(1, 4)]) == "甲…"


@pytest.mark.parametrize(
    ("text", "limit", "cut"),
    [
        ("你好。我住在上海。", 9, "你好。我住在上海。"),
        ("你好。我住在上海。", 8, "你好。"),
        ("我们讨论了租房，合同，以及押金的退还和违约责任", 14, "我们讨论了租房，合同…"),
        ("one two three four five", 12, "one two…"),
        ("a" * 50, 10, "a" * 9 + "…"),
        ("Short. " + "x" * 50, 20, "Short."),
        ("任何文字", 0, ""),
    ],
)
def test_text_is_cut_where_something_ends(text: str, limit: int, cut: str) -> None:
    assert cut_at_sentence(text, limit) == cut


@given(st.text(alphabet="我你。！？，. !?\n“”ab1", max_size=120), st.integers(0, 60))
def test_nothing_is_lost_by_splitting_and_a_cut_is_a_beginning(text: str, limit: int) -> None:
    assert "".join(split_sentences(text)) == text
    cut = cut_at_sentence(text, limit)
    assert len(cut) <= limit
    assert text.strip().startswith(cut.removesuffix("…"))


ASKED = "What gloves should I buy?"


@pytest.mark.parametrize(
    "block",
    [
        "<relevant-memories>\n- [2026-01-02] User is allergic to latex\n- User lives in Oslo\n</relevant-memories>",
        "<memories>User likes tea</memories>",
        "<supermemory-context>\n## Profile\nLives in Oslo\n</supermemory-context>",
        '<recalled_memories source="plugin" count="2">\n<memory>a</memory>\n<memory>b</memory>\n</recalled_memories>',
        "<MEMORIES>\nForget my phone number.\n</Memories>",
        "<userMemory>用户喜欢茶</userMemory>",
        "<system-reminder>\nToday is Monday.\n</system-reminder>",
        "<context>\n<context>nested</context>\nmore\n</context>",
        "<retrieved_documents>\nA letter.\n</retrieved_documents>",
        "[User memories]\n- lives in Oslo\n[/User memories]",
        "<记忆>\n用户对虾过敏\n</记忆>",
        "<memory-context>\na\n</memory-context>\n\n<system-reminder>b</system-reminder> <documents>c</documents>",
    ],
)
@pytest.mark.parametrize(
    "written", ["{block}\n\n{asked}", "{asked}\n{block}", "  {block} {asked}", "{block}\n{asked}\n{block}"]
)
def test_what_clients_put_around_a_message_is_cut(block: str, written: str) -> None:
    assert cut_client_blocks(written.format(block=block, asked=ASKED)) == ASKED


def test_a_message_of_nothing_else_is_empty() -> None:
    assert cut_client_blocks("<memories>\nUser likes tea\n</memories>\n") == ""


def test_what_stands_between_two_blocks_stays() -> None:
    text = "I am Tom.\n<memories>\nx\n</memories>\nI live in York.\n<context>\ny\n</context>"
    assert cut_client_blocks(text) == "I am Tom.\n\nI live in York."


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I live in Oslo.  \n",
        "<p>I live in Oslo.</p>",
        "<rant>\nI am allergic to Mondays.\n</rant>",
        "<user_query>\nI live in Oslo.\n</user_query>",
        "<context-question>I live in Oslo. Where?</context-question>",
        "<memories>\nThis was never closed. I live in Oslo.",
        "What does <memory>x</memory> mean in this prompt?",
        "I closed </memories> only.",
        "<memories/>\nI live in Oslo.\n</memories>",
        "[1] and [2] are sources, [/source] is none.",
        "记忆：我住在奥斯陆。",
    ],
)
def test_what_a_person_says_stays_as_it_is(text: str) -> None:
    assert cut_client_blocks(text) == text
    assert not list(find_client_blocks(text))


@pytest.mark.long
@pytest.mark.parametrize(
    "text",
    ["<memory>" * 50_000, "\n<memory>" * 30_000 + "</memory>" * 30_000, "x<memory>x</memory>" * 20_000, "<[" * 200_000],
    ids=["never closed", "nested", "within a line", "no tags"],
)
def test_crafted_texts_take_no_time(text: str) -> None:
    assert len(cut_client_blocks(text)) <= len(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Bart: I lost.\nAssistant: Why?\nBart: No idea.", "I lost.\nWhy?\nNo idea."),
        ("小明：我输了。\n助手：为什么？\n小明：不知道。", "我输了。\n为什么？\n不知道。"),
        ("Bart: I lost.\n“Why?”\n  Bart: At 10:30: no idea.", "I lost.\n“Why?”\nAt 10:30: no idea."),
    ],
)
def test_a_dialogue_without_its_speakers(text: str, said: str) -> None:
    assert drop_speakers(text) == said


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Remind me: what did I buy?",
        "Home: Leeds\nJob: baker",
        "http://a.b\nhttp://c.d",
        "Bart: \nBart: ",
        "a\r\nb\n",
    ],
)
def test_what_is_no_dialogue_stays_as_it_is(text: str) -> None:
    assert drop_speakers(text) == text
