"""How many memories each person has when all of them together have so many. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

STEADY = 4
"""People whose memories stay as many from size to size: how fast they are found then depends on the others' alone."""

ORDINARY, STEADY_GROUP, BIG = "ordinary", "steady", "big"


@dataclass(frozen=True, slots=True)
class Sharing:
    """The number of memories of each person, and the positions of the members of each group."""

    counts: Sequence[int]
    groups: Mapping[str, Sequence[int]]


def share_memories(sizes: Sequence[int], *, users: int, big: int) -> list[Sharing]:
    """Return who has how many memories at each of the growing sizes; nobody ever has fewer than before.

    The first person has `big` of them, but no more than half. `STEADY` people have at all sizes what an ordinary person
    has at the greatest, as far as an eighth of the smallest size allows. The rest is shared evenly.
    """
    if users < STEADY + 2:
        raise ValueError(f"there must be at least {STEADY + 2} users")
    if sizes[0] < 2 * users:
        raise ValueError("the smallest size must be at least twice the number of users")
    last, first = sizes[-1], sizes[0]
    steady = max(1, min((last - _count_big(last, big)) // (users - 1), first // 8 // STEADY))
    groups = {
        ORDINARY: range(STEADY + 1, users),
        STEADY_GROUP: range(1, STEADY + 1),
        BIG: range(1),
    }
    others = users - STEADY - 1
    sharings = []
    for size in sizes:
        rest = size - _count_big(size, big) - STEADY * steady
        each, more = divmod(rest, others)
        ordinary = [each + 1] * more + [each] * (others - more)
        sharings.append(Sharing(counts=[_count_big(size, big), *[steady] * STEADY, *ordinary], groups=groups))
    return sharings


def _count_big(size: int, big: int) -> int:
    return min(big, size // 2)
