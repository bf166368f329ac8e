"""Which turns of a replay are timed on an idle and on a busy system."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.schedule import PlannedTurn, plan_blocks, select_turns, split_by_user


def make_turns(user: str, count: int) -> list[PlannedTurn]:
    return [PlannedTurn(user=user, session=f"s{number // 2}", content=f"{user}{number}") for number in range(count)]


SAID = {"a": make_turns("a", 2), "b": make_turns("b", 10), "c": make_turns("c", 10)}


def test_everybody_has_the_same_share_as_long_as_they_have_that_many() -> None:
    assert Counter(turn.user for turn in select_turns(SAID, 12)) == {"a": 2, "b": 5, "c": 5}


def test_each_keeps_the_order_of_what_was_said_and_is_spread_over_the_whole() -> None:
    selected = [turn.content for turn in select_turns(SAID, 12)]
    assert selected == ["b0", "c0", "a0", "b1", "c1", "b2", "c2", "b3", "c3", "a1", "b4", "c4"]


def test_no_more_than_was_said_can_be_selected() -> None:
    assert len(select_turns(SAID, 22)) == 22
    with pytest.raises(ValueError, match="the folders hold 22 messages of users, not 23"):
        select_turns(SAID, 23)


def test_the_blocks_hold_every_turn_in_order_and_idle_and_busy_stand_alike() -> None:
    turns = make_turns("a", 330)
    blocks = plan_blocks(turns)
    assert [turn for block in blocks for turn in block.turns] == turns
    assert {len(block.turns) for block in blocks[:-1]} == {20}
    assert [block.busy for block in blocks[:8]] == [False, True, True, False, False, True, True, False]


def test_a_short_replay_has_enough_of_both() -> None:
    blocks = plan_blocks(make_turns("a", 8))
    assert [(block.busy, len(block.turns)) for block in blocks] == [(False, 2), (True, 2), (True, 2), (False, 2)]


def test_what_one_person_says_stays_in_order() -> None:
    chains = split_by_user([*make_turns("a", 2), *make_turns("b", 1), *make_turns("a", 1)])
    assert [[turn.content for turn in chain] for chain in chains] == [["a0", "a1", "a0"], ["b0"]]
