"""Where a labelled conversation goes wrong: at reading a message, at comparing what was read, or at ending too much."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tests.quality.cases import ContradictionCase, holds
from tests.quality.judge import Kept

Error = Literal[
    "first not extracted",
    "last not extracted",
    "not ended",
    "wrongly ended",
    "kept not extracted",
    "live not told",
    "too many",
]
"""What went wrong with a mark.

The first three are missed ends: no memory of the earlier message held the mark, the last message left no memory, or
its memory did not end the earlier one. The others: an end too many; a mark that should have stayed and never was
there; one that no memory holds now; and more memories than one of them.
"""


@dataclass(frozen=True, slots=True)
class Finding:
    """An error and the mark it concerns ("" for the whole case)."""

    error: Error
    mark: str = ""


def find_errors(case: ContradictionCase, history: Sequence[Sequence[Kept]]) -> list[Finding]:
    """Everything that keeps a case from being clean, by the active memories after each of its messages."""
    findings = [*_find_missed(case, history), *_find_wrongly_ended(case, history)]
    known = {finding.mark for finding in findings}
    now = history[-1]
    untold = [mark for mark in case.live if not _is_held(mark, now) and mark not in known]
    findings += [Finding("live not told", mark) for mark in untold]
    if sum(any(holds(text=memory.text, mark=mark) for mark in case.live) for memory in now) > case.live_count:
        findings.append(Finding("too many"))
    return findings


def _find_missed(case: ContradictionCase, history: Sequence[Sequence[Kept]]) -> Iterator[Finding]:
    last = len(case.messages) - 1
    told_last = any(memory.message == last for memory in history[-1])
    for mark in case.ended:
        if not any(_is_held(mark, [memory for memory in state if memory.message < last]) for state in history[:-1]):
            yield Finding("first not extracted", mark)
        elif _is_held(mark, [memory for memory in history[-1] if memory.message != last]):
            yield Finding("not ended" if told_last else "last not extracted", mark)


def _find_wrongly_ended(case: ContradictionCase, history: Sequence[Sequence[Kept]]) -> Iterator[Finding]:
    last = len(case.messages) - 1
    for mark in case.kept:
        if not _is_held(mark, history[-2]):
            yield Finding("kept not extracted", mark)
            continue
        counted = [memory for memory in history[-1] if memory.message < last or case.relation != "unrelated"]
        if not _is_held(mark, counted):
            yield Finding("wrongly ended", mark)


def _is_held(mark: str, memories: Sequence[Kept]) -> bool:
    return any(holds(text=memory.text, mark=mark) for memory in memories)
