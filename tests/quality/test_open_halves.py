"""The offline rules keep the open halves at the goal of issue 3; the frozen ones are for ``make quality`` to count."""

from __future__ import annotations

from typing import get_args

import pytest

from benchmarks.quality import GOAL, count_junk, measure_cases
from tests.quality.cases import Language, load_cases

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(600)]


def nothing() -> None:
    """Nobody watches the progress."""


@pytest.mark.spec("A3")
@pytest.mark.parametrize("language", get_args(Language))
def test_what_is_no_longer_true_ends_and_what_is_true_stays(language: Language) -> None:
    figures = measure_cases(load_cases(language=language, half="open"), advance=nothing)
    assert figures.precision >= GOAL
    assert figures.recall >= GOAL
    assert figures.clean.total() >= GOAL * figures.cases.total()


@pytest.mark.spec("A2")
@pytest.mark.parametrize("language", get_args(Language))
def test_junk_leaves_nothing_and_no_injection_is_active(language: Language) -> None:
    counts = count_junk(language=language, advance=nothing)
    assert counts["junk kept"] == 0
    assert counts["injection kept"] == 0
