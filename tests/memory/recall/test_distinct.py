"""What adds something to what is shown already."""

from __future__ import annotations

import pytest

from apps.memory.recall.former import Shown, tells_all


@pytest.mark.spec("A4")
@pytest.mark.parametrize(
    ("shown", "text"),
    [
        ("我在杭州的一家医院做护士，每周三休息。", "我在杭州的一家医院做护士。"),
        ("I work as a nurse in Leeds, on night shifts.", "I work as a nurse in Leeds."),
        ("job: nurse in Leeds", "I'm a nurse in Leeds."),
        ("我不吃香菜。", "我不吃香菜"),
    ],
)
def test_what_is_in_a_text_that_is_shown_adds_nothing(shown: str, text: str) -> None:
    assert not Shown([shown]).add(text)


@pytest.mark.spec("A4")
@pytest.mark.parametrize(
    ("shown", "text"),
    [
        ("I work as a nurse in Leeds.", "I work as a nurse in Leeds, on night shifts."),
        ("The train leaves at 17:40 from platform 3.", "The train leaves at 17:45 from platform 3."),
        ("The room is number 17.", "The room is number 7."),
        ("我吃香菜。", "我不吃香菜。"),
        ("I like the new flat in York.", "I don't like the new flat in York."),
        ("Anna lives in Berlin.", "Ben lives in Berlin."),
        ("", "tea"),
        ("tea", "😀"),
    ],
)
def test_a_word_a_number_or_a_denial_more_adds_something(shown: str, text: str) -> None:
    assert Shown([shown]).add(text)


def test_what_was_added_is_shown() -> None:
    shown = Shown()
    assert [shown.add(text) for text in ("I like green tea.", "green tea", "I like black tea.")] == [True, False, True]


def test_two_texts_together_say_nothing_of_a_third() -> None:
    # Who lives where is in neither.
    assert Shown(["Anna lives in Leeds.", "Ben lives in York."]).add("Anna lives in York.")


@pytest.mark.spec("A5")
@pytest.mark.parametrize(
    ("memories", "message", "told"),
    [
        (["My sister Anna is a vet in Hamburg."], "My sister Anna is a vet in Hamburg.", True),
        (["favorite color: blue"], "Blue it is, always was.", True),
        (["喜欢的颜色: 蓝色"], "你好！我喜欢的颜色是蓝色。", True),
        (["name: Mel"], "Hi, I'm Mel. My sister Anna is a vet in Hamburg.", False),
        (["Never really got into beer."], "Never really got into beer. Give me a dry cider any day.", False),
        ([], "I live in Leeds.", False),
    ],
)
def test_memories_of_a_message_tell_all_of_it_or_leave_something(memories: list[str], message: str, told: bool) -> None:
    assert tells_all(memories, message) == told
