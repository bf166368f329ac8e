"""What a conversation is about, by how much its words tell."""

from __future__ import annotations

import pytest

from apps.core.text.keywords import find_topic, measure, tells_enough

pytestmark = pytest.mark.spec("W3")


def find(message: str, *earlier: str, vague: str = "") -> str | None:
    return find_topic(message, folded=message.lower(), earlier=earlier, is_vague=vague.split().__contains__)


@pytest.mark.parametrize("message", ["true", "helped ya", "的确", "明白了", "", "👍", "👍🎉😀🇫🇷", "1234", "yes it is"])
def test_what_tells_little_has_no_topic(message: str) -> None:
    assert find(message) is None
    assert not tells_enough(message)


@pytest.mark.parametrize(
    ("message", "topic"),
    [
        ("Where can I read about Sourdough Bread?", "Sourdough Bread"),
        ("We fly for our holidays to Tokyo, then back", "holidays to Tokyo"),
        ("公司押金退还的合同", "押金退还"),
        ("Meeting José in the café Überall", "Meeting José"),
    ],
)
def test_words_that_stand_together_are_one_topic_as_they_were_written(message: str, topic: str) -> None:
    assert find(message) == topic
    assert tells_enough(message)


def test_no_phrase_goes_over_a_comma_or_a_line() -> None:
    assert find("gardening, photography") == "photography"
    assert find("gardening\nphotography") == "photography"


def test_what_was_said_before_tells_more() -> None:
    message = "gardening, photography"
    assert find(message, "my gardening gloves", "gardening") == "gardening"


def test_vague_words_are_none() -> None:
    assert find("photography definitely", vague="definitely") is None


def test_the_rarer_word_tells_more() -> None:
    assert measure("押金") > measure("的确") > measure("可以")
    assert measure("sourdough") > measure("true")
