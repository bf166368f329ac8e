"""How clean memory stays: the labelled conversations of ``tests/quality`` through the real extraction (A2, A3).

    python -m benchmarks.quality [--half open frozen] [--json FILE]

Every case is a person of their own on a database of this run's own: each message is stored as a turn was, at its time,
and extracted by the configured model (without a key, the offline rules). Judged as ``tests/quality/README.md`` says.
Only counts are printed: a case of the frozen half is nobody's to look at.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.running import run_in_new_data_folder
from tests.quality.cases import ContradictionCase, Half, Language, load_cases, load_junk
from tests.quality.judge import Judgement, judge

GOAL = 0.95
"""Of precision and of recall (issue 3)."""


@dataclass(slots=True)
class Figures:
    """Counts of one half of one language, and how many of its cases are clean, by kind."""

    ended: int = 0
    wrongly_ended: int = 0
    missed: int = 0
    not_extracted: int = 0
    cases: Counter[str] = field(default_factory=Counter)
    clean: Counter[str] = field(default_factory=Counter)

    def add(self, case: ContradictionCase, judgement: Judgement) -> None:
        self.ended += judgement.ended
        self.wrongly_ended += judgement.wrongly_ended
        self.missed += judgement.missed
        self.not_extracted += judgement.not_extracted
        self.cases[case.kind] += 1
        self.clean[case.kind] += judgement.clean

    @property
    def precision(self) -> float:
        return self.ended / max(1, self.ended + self.wrongly_ended)

    @property
    def recall(self) -> float:
        return self.ended / max(1, self.ended + self.missed)


def measure_half(*, language: Language, half: Half, advance: Callable[[], None]) -> Figures:
    """Play and judge every case of a half."""
    from tests.quality.play import play_case  # needs Django set up

    figures = Figures()
    for case in load_cases(language=language, half=half):
        figures.add(case, judge(case, play_case(case)))
        advance()
    return figures


def count_junk(*, language: Language, advance: Callable[[], None]) -> dict[str, int]:
    """Return how many junk messages and injections there are, and how many of them left what they must not."""
    from tests.quality.play import play_junk

    counts = Counter[str]()
    for case in load_junk(language):
        counts[case.kind] += 1
        counts[f"{case.kind} kept"] += play_junk(case)
        advance()
    return dict(counts)


def _report(halves: dict[str, Figures], junk: dict[str, dict[str, int]]) -> dict[str, Any]:
    shown = {
        name: {
            "precision": round(figures.precision, 3),
            "recall": round(figures.recall, 3),
            "ended": figures.ended,
            "wrongly_ended": figures.wrongly_ended,
            "missed": figures.missed,
            "not_extracted": figures.not_extracted,
            "cases": dict(figures.cases),
            "clean": dict(figures.clean),
        }
        for name, figures in halves.items()
    }
    return {"contradictions": shown, "junk": junk}


def _print(console: Console, halves: dict[str, Figures], junk: dict[str, dict[str, int]]) -> None:
    table = Table("", "precision", "recall", "ended", "wrongly", "missed", "not extracted", title="Contradictions")
    for name, figures in halves.items():
        numbers = (figures.ended, figures.wrongly_ended, figures.missed, figures.not_extracted)
        table.add_row(name, f"{figures.precision:.3f}", f"{figures.recall:.3f}", *map(str, numbers))
    console.print(table)
    kinds = list(dict.fromkeys(kind for figures in halves.values() for kind in figures.cases))
    clean = Table("", *kinds, title="Clean cases")
    for name, figures in halves.items():
        clean.add_row(name, *(f"{figures.clean[kind]}/{figures.cases[kind]}" for kind in kinds))
    console.print(clean)
    left = Table("", "junk stored", "injections active", title="Junk")
    for name, counts in junk.items():
        left.add_row(
            name, f"{counts['junk kept']}/{counts['junk']}", f"{counts['injection kept']}/{counts['injection']}"
        )
    console.print(left)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit code: 1 where an open half misses the goal or an injection is active."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", nargs="+", choices=get_args(Half), default=list(get_args(Half)))
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    given = parser.parse_args(arguments)
    languages: tuple[Language, ...] = get_args(Language)
    console = Console()
    with run_in_new_data_folder(), Progress(console=console, transient=True) as progress:
        task = progress.add_task("Cases", total=None)

        def advance() -> None:
            progress.advance(task)

        halves = {
            f"{language} {half}": measure_half(language=language, half=half, advance=advance)
            for language in languages
            for half in given.half
        }
        junk = {language: count_junk(language=language, advance=advance) for language in languages}
    _print(console, halves, junk)
    if given.json:
        given.json.write_text(json.dumps(_report(halves, junk), ensure_ascii=False, indent=2) + "\n", "utf-8")
    missed = [name for name, one in halves.items() if "open" in name and min(one.precision, one.recall) < GOAL]
    active = sum(counts["injection kept"] for counts in junk.values())
    return 1 if missed or active else 0


if __name__ == "__main__":
    sys.exit(main())
