"""What a model wrote rests on what was said, or it does not."""

from __future__ import annotations

import pytest

from apps.core.text.grounding import is_grounded, is_said_by, read_questions


@pytest.mark.spec("A3")
@pytest.mark.parametrize(
    ("text", "said", "grounded"),
    [
        ("The user runs.", "I went running", True),
        ("用户搬到了上海。", "我搬去上海了", True),
        ("The user's extension is 4471.", "no, 4471", True),
        ("O", "My blood type is O", True),
        ("lotsa", "I had lots of fun", False),
        ("d", "I'd rather not", False),
        ("l", "I'll see", False),
        ("The user likes the user.", "I, the user", False),
        ("用户喜欢苹果。", "我住在北京", False),
    ],
)
def test_a_text_is_grounded_by_one_content_word(text: str, said: str, grounded: bool) -> None:
    assert is_grounded(text, said=said) is grounded


@pytest.mark.parametrize(
    ("text", "said", "whole"),
    [
        ("cat Miso", "The user has a cat called Miso, seven years old.", True),
        ("4417", "The user's extension is 4471.", False),
        ("number 31", "locker: number 13", False),
    ],
)
def test_a_value_is_said_by_a_text_with_all_of_its_words(text: str, said: str, whole: bool) -> None:
    assert is_said_by(text, said=said) is whole


def test_of_an_assistant_only_its_questions_count() -> None:
    text = "You love jazz. It is Marc who can't eat nuts? 是马克吗？Fine."
    assert read_questions(text) == "It is Marc who can't eat nuts? 是马克吗？"
