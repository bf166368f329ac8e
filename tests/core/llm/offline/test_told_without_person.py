"""Statements of the writer's life that have the form of something else, and what only looks like one."""

from __future__ import annotations

import time

import pytest

from apps.core.llm.offline.restating import restate
from tests.core.llm.offline.tables import read_table
from tests.core.llm.offline.test_extraction import contents


@pytest.mark.spec("A2")
@pytest.mark.parametrize(("message", "expected"), read_table("told"))
def test_what_tells_of_the_writer_is_taken(message: str, expected: str) -> None:
    assert " | ".join(contents(message)) == expected


@pytest.mark.spec("A2")
@pytest.mark.parametrize("message", [message for message, _ in read_table("untold")])
def test_what_only_looks_like_it_is_not(message: str) -> None:
    assert contents(message) == []


@pytest.mark.spec("A2")
def test_what_asks_stays_a_question() -> None:
    for question in ("Is there anything better than Excel?", "Who doesn't like me?", "Guess who I met?", "谁不爱我？"):
        assert restate(question) == question


@pytest.mark.parametrize(
    "piece",
    [
        *("guess who ", "what I ", "my a? ", "a, any ", "the b ", "in case ", "谁不爱", "it is ", "I refuse to "),
        *("the weather ", "dogs are better than ", "what a b c is ", "do I love a? ", "ew, ", "香菜？", "membership "),
    ],
)
def test_long_runs_are_read_quickly(piece: str) -> None:
    contents("I live here.")
    started = time.process_time()
    contents(piece * (4_000 // len(piece)))
    assert time.process_time() - started < 1
