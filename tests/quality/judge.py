"""What README.md calls a judge: from the active memories after each message to true and false positives. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.quality.cases import ContradictionCase, holds


@dataclass(frozen=True, slots=True)
class Kept:
    """An active memory: its text, and which message of the case (from 0) it comes from."""

    text: str
    message: int


@dataclass(frozen=True, slots=True)
class Judgement:
    """Of one case. `ended`: true positives; `wrongly_ended`: false positives; `missed`: false negatives."""

    ended: int
    wrongly_ended: int
    missed: int
    not_extracted: int
    clean: bool


def judge(case: ContradictionCase, history: Sequence[Sequence[Kept]]) -> Judgement:
    """Judge a case by the active memories after each of its messages."""
    last = len(case.messages) - 1
    now = history[-1]
    ended = missed = wrongly = not_extracted = 0
    for mark in case.ended:
        was_there = any(
            memory.message < last and holds(text=memory.text, mark=mark) for state in history[:-1] for memory in state
        )
        is_there = any(memory.message != last and holds(text=memory.text, mark=mark) for memory in now)
        not_extracted += not was_there
        ended += was_there and not is_there
        missed += not was_there or is_there
    for mark in case.kept:
        if not any(holds(text=memory.text, mark=mark) for memory in history[-2]):
            not_extracted += 1
            continue
        of_earlier = case.relation == "unrelated"
        wrongly += not any(
            holds(text=memory.text, mark=mark) and (memory.message < last or not of_earlier) for memory in now
        )
    told = all(any(holds(text=memory.text, mark=mark) for memory in now) for mark in case.live)
    holding = sum(any(holds(text=memory.text, mark=mark) for mark in case.live) for memory in now)
    return Judgement(
        ended=ended,
        wrongly_ended=wrongly,
        missed=missed,
        not_extracted=not_extracted,
        clean=not (missed or wrongly) and told and holding <= case.live_count,
    )
