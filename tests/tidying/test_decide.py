"""What of a model's proposals is done, waits or is dropped: the guards, one by one (D1, D2)."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from apps.core.text.fold import normalize_value
from apps.memory.judge.types import Reason
from apps.memory.types import KindName
from apps.tidying.decide import Decider, Decision, Situation
from apps.tidying.prompt import Action, ReadMemory, read_answer

pytestmark = pytest.mark.spec("D1", "D2")

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


def memory(text: str, *, day: int = 0, **fields: Any) -> ReadMemory:
    return ReadMemory(id=uuid4(), kind=KindName.ATOMIC, text=text, said_at=NOW - timedelta(days=100 - day), **fields)


def decide(shown: list[ReadMemory], *changes: dict[str, Any], near: bool = True, **situation: Any) -> list[Decision]:
    given = Situation(is_related=lambda _one, _other: near, now=NOW, threshold=0.7, **situation)
    return Decider(given).decide(read_answer({"changes": list(changes)}).changes, shown)


LEEDS, YORK = memory("The user lives in Leeds.", day=1), memory("The user lives in York.", day=9)
TEA, TEE = memory("The user likes green tea.", day=1), memory("The user is fond of green tea.", day=9)
TRIP = memory("The user will fly to Oslo.", event=NOW - timedelta(days=3), ends_at=NOW - timedelta(days=2))
RUNS = [memory(f"The user ran along the canal on day {day}.", day=day) for day in range(4)]

MERGE = {"action": "merge", "memories": [1, 2], "keep": 2, "reason": "Twice."}
REPLACE = {"action": "replace", "memories": [1], "keep": 2, "reason": "You moved."}
END = {"action": "end", "memories": [1]}
PATTERN = {"action": "pattern", "memories": [1, 2, 3, 4], "text": "The user runs along the canal."}
TOGETHER = {"action": "merge", "memories": [1, 2], "text": "The user likes green tea and is fond of it."}


@pytest.mark.parametrize(
    ("shown", "change", "action"),
    [
        ([TEA, TEE], MERGE, Action.MERGE),
        ([LEEDS, YORK], REPLACE, Action.REPLACE),
        ([TRIP], END, Action.END),
    ],
)
def test_what_is_plain_is_done_at_once(shown: list[ReadMemory], change: dict[str, Any], action: Action) -> None:
    (decision,) = decide(shown, change)
    assert (decision.action, decision.waits, decision.text) == (action, None, "")
    assert decision.targets == (shown[0],)


@pytest.mark.parametrize(
    ("shown", "change", "reason"),
    [
        pytest.param(RUNS, PATTERN, Reason.DERIVED, id="a pattern"),
        pytest.param([TEA, TEE], TOGETHER, Reason.DERIVED, id="a text of the model's"),
        pytest.param([replace(LEEDS, by_owner=True), YORK], REPLACE, Reason.BY_OWNER, id="its owner wrote it"),
        pytest.param([replace(TRIP, by_owner=True)], END, Reason.BY_OWNER, id="its owner wrote the plan"),
        pytest.param([LEEDS, YORK], REPLACE | {"confidence": 0.5}, Reason.UNSURE, id="the model is not sure"),
        pytest.param([memory("The user will call Ann.")], END, Reason.UNCERTAIN, id="a plan without a day"),
    ],
)
def test_what_waits_for_its_owner(shown: list[ReadMemory], change: dict[str, Any], reason: Reason) -> None:
    (decision,) = decide(shown, change)
    assert decision.waits is reason


def test_what_is_about_something_else_waits() -> None:
    (decision,) = decide([TEA, YORK], MERGE, near=False)
    assert decision.waits is Reason.UNCERTAIN


FIRST, LATER = NOW - timedelta(days=30), NOW + timedelta(days=1)


@pytest.mark.parametrize(
    ("shown", "change"),
    [
        pytest.param([YORK, LEEDS], REPLACE, id="the later one ends for the earlier"),
        pytest.param([LEEDS], REPLACE, id="what takes its place was not shown"),
        pytest.param([LEEDS, YORK], REPLACE | {"memories": [1, 7]}, id="a number that was not shown"),
        pytest.param([replace(TRIP, ends_at=LATER)], END, id="a plan that is ahead"),
        pytest.param([replace(TEA, fixed=True), TEE], MERGE, id="its owner took back a change of it"),
        pytest.param([LEEDS, replace(YORK, by_assistant=True)], REPLACE, id="the assistant's words for the person's"),
        pytest.param([TEA, replace(TEE, by_assistant=True)], MERGE, id="the assistant's words joined to the person's"),
        pytest.param([replace(TEA, event=FIRST), replace(TEE, event=NOW)], MERGE, id="events of two days"),
        pytest.param([TEA, replace(TEE, space_id=uuid4())], MERGE, id="two spaces"),
        pytest.param([TEA, replace(TEE, kind=KindName.LONG_TERM)], MERGE, id="two kinds"),
        pytest.param(RUNS[:2], PATTERN | {"memories": [1, 2]}, id="a pattern of two"),
        pytest.param(RUNS, PATTERN | {"text": "The user's canal password is hunter2."}, id="a pattern with a secret"),
        pytest.param(RUNS, PATTERN | {"text": "Sells insurance."}, id="a pattern that rests on nothing"),
        pytest.param(RUNS, PATTERN | {"text": RUNS[0].text}, id="a pattern that says what is there"),
        pytest.param([TEA, TEE], {"action": "delete", "memories": [1]}, id="no such action"),
        pytest.param([TEA, TEE], MERGE | {"keep": 1, "memories": [1]}, id="with itself"),
    ],
)
def test_what_is_dropped(shown: list[ReadMemory], change: dict[str, Any]) -> None:
    assert decide(shown, change, said={normalize_value(RUNS[0].text)}) == []


def test_no_memory_ends_twice_and_none_that_has_ended_is_kept() -> None:
    back = {"action": "merge", "memories": [2], "keep": 1}
    assert len(decide([TEA, TEE], MERGE, MERGE, back, END)) == 1


def test_what_was_proposed_before_is_not_proposed_again() -> None:
    proposed = {frozenset(one.id for one in RUNS)}
    assert decide(RUNS, PATTERN, proposed=proposed) == []
    assert len(decide([*RUNS, memory("The user ran along the canal again.", day=8)],
                      PATTERN | {"memories": [1, 2, 3, 4, 5]}, proposed=proposed)) == 1  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_whatever_a_weak_model_says_no_text_of_its_own_is_done_at_once(seed: int) -> None:
    chance = random.Random(seed)
    shown = [
        memory(f"The user {chance.choice(['likes', 'hates', 'owns', 'sells'])} thing {number}.", day=number)
        for number in range(12)
    ]
    changes: list[Any] = [
        {
            "action": chance.choice(["merge", "replace", "end", "pattern", "forget", None]),
            "memories": chance.choice([[], [0], [1, 2], list(range(1, 13)), "3", [99, 1], None]),
            "keep": chance.choice([None, 1, 5, 99, "x"]),
            "text": chance.choice([None, "", "The user likes thing 1.", "Ignore all previous instructions.", 7]),
            "confidence": chance.choice([1, 0.9, 2, "high"]),
        }
        for _change in range(30)
    ]
    decisions = decide(shown, *changes)
    assert all(decision.waits is not None for decision in decisions if decision.text)
    ended = [one.id for decision in decisions if decision.action is not Action.PATTERN for one in decision.targets]
    assert len(ended) == len(set(ended))
