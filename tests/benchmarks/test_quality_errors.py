"""Where a labelled conversation went wrong is told apart: reading, comparing, ending too much."""

from __future__ import annotations

import pytest

from benchmarks.quality_errors import Finding, find_errors
from tests.quality.cases import ContradictionCase, Message, Relation
from tests.quality.judge import Kept

ROME, CAT, PISA = (
    Kept(text="住在罗马。", message=0),
    Kept(text="养了只猫。", message=0),
    Kept(text="搬到比萨了。", message=1),
)


def make_case(relation: Relation, *, live: tuple[str, ...], ended: tuple[str, ...] = ()) -> ContradictionCase:
    messages = (Message(text="住在罗马，养了只猫。", days_ago=9), Message(text="搬到比萨了。", days_ago=1))
    return ContradictionCase(
        id="", language="zh", kind="", messages=messages, relation=relation, live=live, ended=ended, live_count=2
    )


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([ROME, CAT], [CAT, PISA], []),
        ([CAT], [CAT, PISA], [Finding("first not extracted", "罗马")]),
        ([ROME, CAT], [ROME, CAT], [Finding("last not extracted", "罗马"), Finding("live not told", "比萨")]),
        ([ROME, CAT], [ROME, CAT, PISA], [Finding("not ended", "罗马")]),
        ([ROME, CAT], [PISA], [Finding("wrongly ended", "猫")]),
        ([ROME], [PISA], [Finding("kept not extracted", "猫")]),
        ([ROME, CAT], [CAT, PISA, CAT], [Finding("too many")]),
    ],
)
def test_the_errors_of_a_contradiction(before: list[Kept], after: list[Kept], expected: list[Finding]) -> None:
    case = make_case("contradicts", live=("比萨", "猫"), ended=("罗马",))
    assert find_errors(case, [before, after]) == expected


def test_what_is_unrelated_stays_only_as_it_was_said_before() -> None:
    case = make_case("unrelated", live=("罗马",))
    said_again = Kept(text="罗马很热。", message=1)
    assert find_errors(case, [[ROME], [said_again]]) == [Finding("wrongly ended", "罗马")]
    assert find_errors(make_case("same", live=("罗马",)), [[ROME], [said_again]]) == []
