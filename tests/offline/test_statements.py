"""What is kept of a message: whole sentences, as they were said, that last and stand alone."""

from __future__ import annotations

import pytest

from apps.offline.statements import list_statements
from tests.offline.prompts import read_lines

# Of plain statements, at least. The goal is 0.8; less than this is worth a look.
SHARE_KEPT = 0.9


def keep(text: str) -> list[str]:
    return [sentence.text for sentence in list_statements(text)]


@pytest.mark.spec("A2")
@pytest.mark.parametrize("language", ["en", "zh"])
def test_plain_statements_are_kept_as_they_stand(language: str) -> None:
    said = read_lines(f"kept_{language}")
    lost = [sentence for sentence in said if keep(sentence) != [sentence]]
    assert len(said) >= 60
    assert len(lost) <= (1 - SHARE_KEPT) * len(said), lost


@pytest.mark.spec("A2")
@pytest.mark.parametrize("language", ["en", "zh"])
def test_talk_is_not_kept(language: str) -> None:
    assert [sentence for sentence in read_lines(f"left_{language}") if keep(sentence)] == []


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("Well, haha, I live in York.", ["I live in York."]),
        ("Hey Maria! By the way, my brother is a pilot. How are you?", ["my brother is a pilot."]),
        ("Thanks, John! I work at a bakery. It's great.", ["I work at a bakery."]),
        (
            "So my wife and I adopted a dog last week [shares an image: a photo of a dog]",
            ["my wife and I adopted a dog last week"],
        ),
        ("哈哈，对了，我住在上海。你呢？", ["我住在上海。"]),
        ("好的，谢谢。其实我每天都跑步。", ["我每天都跑步。"]),
        ("I work as a nurse, but I'm so tired today.", ["I work as a nurse, but I'm so tired today."]),
        ("My sister wrote to me: I live in Rome and have two dogs. I moved there in May.", []),
        ("I have a cat. My friend said “I have a dog”.", ["I have a cat."]),
    ],
)
def test_a_sentence_is_kept_whole_without_what_it_opens_with(message: str, kept: list[str]) -> None:
    assert keep(message) == kept


@pytest.mark.spec("L9")
@pytest.mark.parametrize(
    "message",
    [
        "Remember that my passport expires on 3 March 2027.",
        "帮我记住：我下周三下午三点要去看牙医。",
        "Forget that I live in Leeds.",
    ],
)
def test_what_the_memory_was_told_by_command_is_not_kept_a_second_time(message: str) -> None:
    assert keep(message) == []


@pytest.mark.parametrize(
    "message",
    [
        "Please translate this:\nI live in Rome.\nMy name is Paolo.",
        "Fix the grammar please, my friend wrote it: I no longer use WhatsApp.",
        "翻译一下：我住在罗马。我叫保罗。",
        "```\nI live in Rome.\n```",
        "> I live in Rome.",
    ],
)
def test_text_of_others_is_not_kept(message: str) -> None:
    assert keep(message) == []
