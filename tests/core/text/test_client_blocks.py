"""What chat clients put into messages is told apart from what the person says, and nothing of that is lost."""

from __future__ import annotations

import pytest

from apps.core.text.sentences import cut_client_blocks, find_client_blocks

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
