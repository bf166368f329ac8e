"""The verdicts of the connected model, checked against what it was shown (SPEC A3). Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from apps.memory.judging.types import KnownMemory, Relation, Statement, Verdict


class ModelJudge:
    """A judge whose verdicts came with the answer of the model that extracted the statements."""

    def __init__(self, verdicts: Sequence[Verdict]) -> None:
        """`verdicts`: one for each statement, in order."""
        self._verdicts = verdicts

    def judge(self, statements: Sequence[Statement], known: Sequence[KnownMemory]) -> Sequence[Verdict]:
        """Return the model's verdicts; of each only what it can know."""
        numbers = {memory.number for memory in known}
        return [check_verdict(verdict, numbers=numbers) for verdict, _ in zip(self._verdicts, statements, strict=True)]


def check_verdict(verdict: Verdict, *, numbers: Collection[int]) -> Verdict:
    """Return a verdict without the targets that were not shown; without any, the statement is new."""
    targets = check_targets(verdict.targets, numbers=numbers)
    if verdict.relation is Relation.NEW or not targets:
        return Verdict(confidence=verdict.confidence)
    return replace(
        verdict,
        targets=targets,
        left=verdict.left if verdict.relation is Relation.CONTRADICTS else None,
        merged=verdict.merged if verdict.relation is Relation.REFINES else None,
    )


def check_targets(targets: Sequence[int], *, numbers: Collection[int]) -> tuple[int, ...]:
    """Return the targets that were shown, each once."""
    return tuple(dict.fromkeys(target for target in targets if target in numbers))
