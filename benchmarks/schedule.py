"""Which recorded messages are sent when, so that turns on an idle and on a busy system can be compared. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LARGEST_BLOCK = 20


@dataclass(frozen=True, slots=True)
class PlannedTurn:
    """One recorded message: what `user` says in `session`."""

    user: str
    session: str
    content: str


@dataclass(frozen=True, slots=True)
class Block:
    """Turns sent one after another. While it lasts the workers are held (`busy` False) or working (True)."""

    busy: bool
    turns: tuple[PlannedTurn, ...]


def select_turns(said: Mapping[str, Sequence[PlannedTurn]], count: int) -> list[PlannedTurn]:
    """Return `count` turns of all users, each user's first ones in order and spread evenly over the whole.

    Users give as many as each other as long as they have them. ValueError if all have fewer than `count` together.
    """
    if count > (total := sum(map(len, said.values()))):
        raise ValueError(f"the folders hold {total} messages of users, not {count}")
    shares = dict.fromkeys(said, 0)
    missing = count
    while missing:
        for user, turns in said.items():
            if missing and shares[user] < len(turns):
                shares[user] += 1
                missing -= 1
    placed = [
        ((number + 0.5) / shares[user], turn)
        for user, turns in said.items()
        for number, turn in enumerate(turns[: shares[user]])
    ]
    return [turn for _place, turn in sorted(placed, key=lambda item: item[0])]


def plan_blocks(turns: Sequence[PlannedTurn]) -> list[Block]:
    """Cut the turns into short blocks, idle, busy, busy, idle, and so on.

    In this order whatever grows along with the replay, such as memories and tables, weighs the same on both sides.
    """
    size = max(2, min(LARGEST_BLOCK, len(turns) // 8))
    starts = range(0, len(turns), size)
    return [
        Block(busy=number % 4 in (1, 2), turns=tuple(turns[start : start + size]))
        for number, start in enumerate(starts)
    ]


def split_by_user(turns: Sequence[PlannedTurn]) -> list[list[PlannedTurn]]:
    """Return each user's turns by themselves: what one person says is sent in order, people speak at once."""
    chains: dict[str, list[PlannedTurn]] = {}
    for turn in turns:
        chains.setdefault(turn.user, []).append(turn)
    return list(chains.values())
