"""What is a command to the memory and what is not (L9): sentences in toml, and those of somebody else in jsonl."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from apps.core.text.commands import Command, CommandKind, read_commands, read_message

R, F = CommandKind.REMEMBER, CommandKind.FORGET
LIST = Command(CommandKind.LIST)

FOLDER = Path(__file__).parent
SENTENCES = tomllib.loads((FOLDER / "labelled_commands.toml").read_text("utf-8"))


def load(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (FOLDER / name).read_text("utf-8").splitlines()]


@pytest.mark.parametrize(("message", "kept"), SENTENCES["kept"])
@pytest.mark.spec("L9")
def test_what_is_to_be_remembered_is_read_word_for_word(message: str, kept: str) -> None:
    assert read_commands(message) == [Command(R, kept)]


@pytest.mark.parametrize(("message", "what"), SENTENCES["forgotten"])
@pytest.mark.spec("L9")
def test_what_is_to_be_forgotten_is_named(message: str, what: str) -> None:
    assert read_commands(message) == [Command(F, what)]


@pytest.mark.parametrize("message", SENTENCES["everything"])
def test_everything_is_asked_back(message: str) -> None:
    assert read_commands(message) == [Command(F, message, everything=True)]


@pytest.mark.parametrize(("message", "what"), SENTENCES["doubtful"])
def test_what_may_not_be_meant_for_the_memory_is_doubtful(message: str, what: str) -> None:
    assert read_commands(message) == [Command(F, what, doubtful=True)]


@pytest.mark.parametrize("message", SENTENCES["lists"])
@pytest.mark.spec("L9")
def test_asking_what_is_remembered_is_a_command(message: str) -> None:
    assert read_commands(message) == [LIST]
    assert read_message(message).only_list


@pytest.mark.parametrize("message", SENTENCES["none"])
@pytest.mark.spec("L9")
def test_neither_questions_nor_idioms_nor_other_peoples_words_are_commands(message: str) -> None:
    assert read_commands(message) == []


@pytest.mark.parametrize("message", [line["text"] for line in load("not_commands.jsonl")])
def test_harmless_sentences_of_somebody_else_are_no_commands(message: str) -> None:
    assert read_message(message, before=["I live in Leeds."]).commands in ((), (Command(R, "I live in Leeds."),))


@pytest.mark.parametrize("line", load("commands.jsonl"), ids=lambda line: line["command"])
def test_plain_commands_of_somebody_else_are_read(line: dict[str, str]) -> None:
    (command,) = read_commands(line["command"])
    assert command.kind == {"stored": R, "forgotten": F, "listed": CommandKind.LIST}[line["effect"]]


@pytest.mark.parametrize(
    ("before", "message", "kept"),
    [
        (["My locker is 114."], "Remember that.", "My locker is 114."),
        (["My locker is 114.", "ok, thanks!"], "Can you save that as a memory?", "My locker is 114."),
        (["I ski.", "I have a cat. Her name is Mia.\n"], "Take note of that.", "I have a cat. Her name is Mia."),
        (["我的柜子是114号。你好吗？"], "记住这个", "我的柜子是114号。"),
        (["我的柜子是114号"], "幫我記一下。", "我的柜子是114号"),
        (["My locker is 114."], "My bike is red. Please remember that.", "My bike is red."),
        (["My locker is 114."], "Remember this. My bike is red.", "My bike is red."),
        (["My locker is 114."], "> quoted\n\nKeep that in mind, please.", "My locker is 114."),
    ],
)
@pytest.mark.spec("L9")
def test_that_is_what_the_person_said_before(before: list[str], message: str, kept: str) -> None:
    assert read_message(message, before=before).commands == (Command(R, kept),)


@pytest.mark.parametrize(
    "before", [[], ["Hi!"], ["My locker is 114.", "What is the capital of Peru?"], ["“My locker is 114.”"]]
)
def test_that_is_nothing_without_a_statement_before(before: list[str]) -> None:
    assert read_message("Remember that.", before=before).commands == ()


def test_a_message_may_hold_several_commands() -> None:
    message = "Please forget my old address. Remember that I live in Oslo now. What do you remember about me?"
    reading = read_message(message)
    assert reading.commands == (Command(F, "my old address"), Command(R, "I live in Oslo now."), LIST)
    assert reading.only_list


def test_own_words_after_a_quotation_are_a_command() -> None:
    assert read_commands("> The meeting is at 9.\n\nRemember that I ski.") == [Command(R, "I ski.")]
    assert read_commands("<note>x</note>\nRemember that I ski.") == [Command(R, "I ski.")]


def test_nothing_is_forgotten_for_a_long_text() -> None:
    assert read_commands("Forget my address. " + "It rained all day. " * 60) == []


def test_a_list_that_comes_with_another_question_leaves_the_question_to_the_model() -> None:
    reading = read_message("What do you remember about me? And what should I cook tonight?")
    assert reading.lists
    assert not reading.only_list


def test_the_same_twice_is_one_command() -> None:
    assert read_commands("Remember that I ski. Remember that I ski.") == [Command(R, "I ski.")]
