"""How a newly known statement goes into the text of a section (U3), in both languages."""

from __future__ import annotations

import pytest

from apps.profile.statements import drop_oldest, is_said, merge_statement, split_statements


@pytest.mark.spec("U3")
@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("Prefers short answers.", "prefers SHORT answers"),
        ("Prefers short answers.", "Keep it brief, please."),
        ("Prefers short answers.", "回答请尽量简洁"),
        ("回答要简短。", "Please keep answers short."),
        ("請用繁體中文回答。", "请用中文回复"),
        ("请用中文回答。", "请用汉语回复。"),
        ("不要用表情符号", "No emoji."),
        ("Short, casual answers", "Wants casual answers."),
        ("用户是律师", "用户是一名律师。"),
        ("Has 2 cats", "has 2 cats"),
        ("Call me Sam", "Please call me Sam."),
        ("Call me Sam", "I will call you Sam."),
        ("请叫我小明", "称呼：小明"),
        ("No emoji", "表情符号：不用"),
        ("Emoji: none", "不要用表情"),
        ("请用中文回复", "回复语言：中文"),
        ("Reply language: English", "Please answer in English."),
    ],
)
def test_the_same_again_in_other_words_changes_nothing(text: str, again: str) -> None:
    assert merge_statement(text, again) == text


@pytest.mark.spec("U3")
@pytest.mark.parametrize(
    ("text", "newer", "merged"),
    [
        ("Prefers short answers.", "Wants detailed answers.", "Wants detailed answers."),
        ("回答要简短。", "回答要详细一些。", "回答要详细一些。"),
        ("请用中文回答。\n喜欢猫", "Please reply in English.", "喜欢猫\nPlease reply in English."),
        ("不要用表情符号", "可以多用一些表情。", "可以多用一些表情。"),
        ("表情符号：不用", "可以用表情", "可以用表情"),
        ("回复语言：中文", "Answer in English", "Answer in English"),
        ("语气正式", "说话随意一点", "说话随意一点"),
        ("住在北京。\n喜欢猫", "搬到上海了", "喜欢猫\n搬到上海了"),
        ("Lives in Berlin.", "Moved to Munich.", "Moved to Munich."),
        ("Works as a lawyer", "Works as a teacher", "Works as a teacher"),
        ("Call me Sam", "Call me Samuel", "Call me Samuel"),
        ("35岁", "36岁", "36岁"),
        ("Has 2 cats", "Has 3 cats", "Has 3 cats"),
        ("用户喜欢猫。", "用户不再喜欢猫。", "用户不再喜欢猫。"),
        ("Likes cats.", "Doesn't like cats.", "Doesn't like cats."),
    ],
)
def test_what_is_newer_takes_the_place_of_what_it_contradicts(text: str, newer: str, merged: str) -> None:
    assert merge_statement(text, newer) == merged


@pytest.mark.spec("U3")
@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("用户喜欢猫。", "用户喜欢狗。"),
        ("Likes tea", "Likes coffee"),
        ("Works as a lawyer", "Works at Acme"),
        ("Lives in Berlin.", "My sister lives in Paris."),
        ("住在北京", "妈妈住在上海"),
        ("Prefers short answers.", "No emoji."),
        ("请用中文回答。", "正在学英语"),
        ("母语是中文", "请用英文回答"),
    ],
)
def test_what_does_not_contradict_stands_beside_it(text: str, other: str) -> None:
    assert merge_statement(text, other) == f"{text}\n{other}"


def test_a_contradiction_takes_only_its_own_clause() -> None:
    assert merge_statement("回答简短，语气轻松", "回答要详细") == "语气轻松\n回答要详细"
    assert merge_statement("Short answers, no emoji, formal tone", "Long answers") == (
        "no emoji, formal tone\nLong answers"
    )


def test_a_fuller_statement_takes_the_place_of_the_shorter() -> None:
    assert merge_statement("Prefers short answers.", "Short, casual answers") == "Short, casual answers"


def test_an_older_statement_adds_but_does_not_replace() -> None:
    assert merge_statement("Prefers short answers.", "Wants detailed answers.", replaces=False) == (
        "Prefers short answers."
    )
    assert merge_statement("Prefers short answers.", "No emoji.", replaces=False) == "Prefers short answers.\nNo emoji."


def test_the_first_statement_is_the_whole_text() -> None:
    assert merge_statement("", "回答简短") == "回答简短"


def test_a_text_is_split_into_statements() -> None:
    text = "Short answers. No emoji!\n- 用中文回答。称呼我为小明。\n\n  * Version 3.5 is in use"
    assert split_statements(text) == [
        "Short answers.",
        "No emoji!",
        "用中文回答。",
        "称呼我为小明。",
        "Version 3.5 is in use",
    ]
    assert split_statements(" \n ") == []


def test_is_said_looks_at_every_statement() -> None:
    assert is_said("Keep it brief", by=["No emoji", "回答简短"])
    assert not is_said("Keep it brief", by=["No emoji", "回答详细"])
    assert not is_said("Keep it brief", by=[])


def test_dropping_the_oldest_keeps_whole_lines() -> None:
    assert drop_oldest("aaaa\nbbbb\ncc", limit=7) == "bbbb\ncc"
    assert drop_oldest("aaaa\nbbbb\ncc", limit=12) == "aaaa\nbbbb\ncc"
