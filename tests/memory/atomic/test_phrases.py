"""The phrases by which what words say of a thing is learned whatever the thing is."""

from __future__ import annotations

import pytest

from apps.memory.atomic.phrases import SIZE, list_phrases, replace_shared


@pytest.mark.parametrize(
    ("pair", "other"),
    [
        (("The user has a harp.", "The user sold the harp."), ("The user has a canoe.", "The user sold the canoe.")),
        (("用户有一把竖琴。", "用户把竖琴卖了。"), ("用户有一条皮艇。", "用户把皮艇卖了。")),
    ],
)
def test_the_same_said_of_another_thing_has_the_same_phrases_in_the_newer_text(
    pair: tuple[str, str], other: tuple[str, str]
) -> None:
    shared = set(list_phrases(*pair).tolist()) & set(list_phrases(*other).tolist())
    apart = set(list_phrases(*pair).tolist()) ^ set(list_phrases(*other).tolist())
    assert len(shared) > 2 * len(apart)


def test_a_thing_that_was_told_before_is_another_phrase_than_one_that_was_not() -> None:
    told = set(list_phrases("The user has a harp.", "The user sold the harp.").tolist())
    new = set(list_phrases("The user has a canoe.", "The user sold the harp.").tolist())
    assert len(told - new) > 5
    assert len(new - told) > 5


def test_numbers_are_told_apart_by_whether_the_older_text_has_them() -> None:
    same, other, alone = (
        set(list_phrases(old, "The user runs 8 km.").tolist())
        for old in ("The user runs 8 km a day.", "The user runs 5 km a day.", "The user runs a lot.")
    )
    assert same - other
    assert other - same
    assert alone - other
    assert alone - same
    assert other == set(list_phrases("The user runs 3 km a day.", "The user runs 8 km.").tolist())


@pytest.mark.parametrize("text", ["", "。", "😀", "S S S", "9" * 400, "^ $ < >"])
def test_any_text_has_codes_of_the_table_each_once(text: str) -> None:
    codes = list_phrases(text, text).tolist()
    assert codes == sorted(set(codes))
    assert all(0 <= code < SIZE for code in codes)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("The user has two cats.", "The user gave the cats away.", "i gave the it away."),
        ("The user plays the harp.", "The user's sister has a canoe.", "my sister has a canoe."),
        ("用户养了一只猫。", "用户把猫送人了。", "我把它送人了。"),
        ("用户在用 Notion 记笔记。", "Notion 早不用了。", "它 早不用了。"),
    ],
)
def test_what_both_texts_name_is_a_pronoun_in_the_newer_one(old: str, new: str, told: str) -> None:
    assert replace_shared(old, new) == told
