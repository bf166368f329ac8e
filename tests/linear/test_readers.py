"""What is done with a text in a turn, after it, in a search and in an import takes time in proportion to its length.
Nor does any part of it keep other people's requests waiting: another thread gets its turn all the time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from tests.linear.hostile import LENGTH, UNITS, repeat
from tests.linear.limit import measure, measure_longest_hold
from tests.linear.readers import READERS

pytestmark = pytest.mark.long

# How many times as long the longer text is.
GROWTH = 4

# Seconds of processor time that another person's request may wait for (issue 16).
LONGEST_HOLD = 0.2

# Seconds of processor time that the shorter text may take: several times what the slowest reader needs, as processor
# time grows on a machine whose cores others use.
LONGEST_SHORT = 10

# Seconds that a short text may take without telling anything about growth.
NOISE = 0.05

READING = [pytest.param(read, id=name) for name, read in READERS.items()]


def is_linear(read: Callable[[str], object], unit: str) -> bool:
    """Tell whether a long text takes less than thrice as long for a character as one of a quarter of it."""
    read(repeat(unit, 100))  # what is loaded at first use
    short = measure(lambda: read(repeat(unit, LENGTH // GROWTH)), limit=LONGEST_SHORT)
    if short > LONGEST_SHORT:
        return False
    limit = 3 * GROWTH * max(short, NOISE)
    return measure(lambda: read(repeat(unit)), limit=limit) <= limit


@pytest.mark.parametrize("read", READING)
def test_reading_is_linear(read: Callable[[str], object]) -> None:
    assert [unit for unit in UNITS[::3] if not is_linear(read, unit)] == []


@pytest.mark.parametrize("read", READING)
def test_others_get_their_turn_meanwhile(read: Callable[[str], object]) -> None:
    read(repeat("a", 100))
    for unit in UNITS[::9]:
        run = partial(read, repeat(unit))
        assert any(measure_longest_hold(run) < LONGEST_HOLD for _attempt in range(3)), unit
