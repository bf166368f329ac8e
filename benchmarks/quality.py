"""How clean memory stays: the labelled conversations of ``tests/quality`` through the real extraction (A2, A3).

    python -m benchmarks.quality [--half HALF …] [--cases FILE …] [--show] [--json FILE]

Every case is a person of their own on a database of this run's own: each message is stored as a turn was, at its time,
and extracted by the configured model (without a key, the offline rules). Judged as ``tests/quality/README.md`` says.
Only counts are printed: a case of the frozen half is nobody's to look at. ``--cases`` judges files of the same form
instead (each begins with its language, as ``en_more.jsonl``), and ``--show`` prints what went wrong in the cases of
those and of the open ones.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from benchmarks.quality_errors import Error, Finding, find_errors
from benchmarks.running import run_in_new_data_folder
from tests.quality.cases import (
    FOLDER,
    RELATIONS,
    ContradictionCase,
    InvalidCase,
    Language,
    Suite,
    load_case_file,
    load_cases,
    load_junk,
)
from tests.quality.judge import Judgement, Kept, judge

GOAL = 0.95
"""Of precision and of recall (issue 3)."""


@dataclass(slots=True)
class Figures:
    """Counts of one file of cases: marks, and by kind the cases, the clean ones, and the errors."""

    ended: int = 0
    wrongly_ended: int = 0
    missed: int = 0
    not_extracted: int = 0
    cases: Counter[str] = field(default_factory=Counter)
    clean: Counter[str] = field(default_factory=Counter)
    errors: Counter[tuple[Error, str]] = field(default_factory=Counter)

    def add(self, case: ContradictionCase, judgement: Judgement, findings: Iterable[Finding]) -> None:
        self.ended += judgement.ended
        self.wrongly_ended += judgement.wrongly_ended
        self.missed += judgement.missed
        self.not_extracted += judgement.not_extracted
        self.cases[case.kind] += 1
        self.clean[case.kind] += judgement.clean
        self.errors.update((finding.error, case.kind) for finding in findings)

    @property
    def precision(self) -> float:
        return self.ended / max(1, self.ended + self.wrongly_ended)

    @property
    def recall(self) -> float:
        return self.ended / max(1, self.ended + self.missed)


Show = Callable[[ContradictionCase, list[list[Kept]], list[Finding]], None]


def measure_cases(
    cases: Iterable[ContradictionCase], *, advance: Callable[[], None], show: Show | None = None
) -> Figures:
    """Play and judge every case; `show` is given those in which something went wrong."""
    from tests.quality.play import play_case  # needs Django set up

    figures = Figures()
    for case in cases:
        history = play_case(case)
        findings = find_errors(case, history)
        figures.add(case, judge(case, history), findings)
        if findings and show:
            show(case, history, findings)
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


def _report(files: dict[str, Figures], junk: dict[str, dict[str, int]]) -> dict[str, Any]:
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
            "errors": {f"{error}, {kind}": count for (error, kind), count in figures.errors.items()},
        }
        for name, figures in files.items()
    }
    return {"contradictions": shown, "junk": junk}


def _print(console: Console, files: dict[str, Figures], junk: dict[str, dict[str, int]]) -> None:
    table = Table("", "precision", "recall", "ended", "wrongly", "missed", "not extracted", title="Contradictions")
    for name, figures in files.items():
        numbers = (figures.ended, figures.wrongly_ended, figures.missed, figures.not_extracted)
        table.add_row(name, f"{figures.precision:.3f}", f"{figures.recall:.3f}", *map(str, numbers))
    console.print(table)
    by_kind = Table("Kind", *files, title="Clean cases")
    errors = Table("Error", "Kind", *files, title="Errors")
    for kind in RELATIONS:
        by_kind.add_row(kind, *(f"{figures.clean[kind]}/{figures.cases[kind]}" for figures in files.values()))
    for error in get_args(Error):
        for kind in RELATIONS:
            found = [one.errors[error, kind] for one in files.values()]
            if any(found):
                errors.add_row(error, kind, *map(str, found))
    console.print(by_kind, errors)
    if not junk:
        return
    injected = Table("", "junk stored", "injections active", title="Junk")
    for name, counts in junk.items():
        injected.add_row(
            name, f"{counts['junk kept']}/{counts['junk']}", f"{counts['injection kept']}/{counts['injection']}"
        )
    console.print(injected)


def _show(console: Console, case: ContradictionCase, history: list[list[Kept]], findings: list[Finding]) -> None:
    found = "; ".join(f"{finding.error}: {finding.mark}".rstrip(": ") for finding in findings)
    console.print(f"[bold]{case.id}[/bold] [red]{escape(found)}[/red]", soft_wrap=True)
    for message, memories in zip(case.messages, history, strict=True):
        console.print(f"  {escape(message.text)}", soft_wrap=True, highlight=False)
        for memory in memories:
            console.print(f"    [dim]{memory.message}[/dim] {escape(memory.text)}", soft_wrap=True, highlight=False)


def _load(given: argparse.Namespace) -> dict[str, list[ContradictionCase]]:
    languages: tuple[Language, ...] = get_args(Language)
    if not given.cases:
        return {
            f"{language} {half}": load_cases(language=language, half=half)
            for language in languages
            for half in given.half
        }
    files = {}
    for path in given.cases:
        if path.stem.endswith("frozen") or path.resolve().parent == (FOLDER / "contradictions").resolve():
            raise InvalidCase(f"{path.name}: --half judges the files of the suite")
        language = next((language for language in languages if path.name.startswith(language)), None)
        if language is None:
            raise InvalidCase(f"{path.name}: the name of a file begins with its language")
        files[path.stem] = load_case_file(path, language=language)
    return files


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit code: 1 where an open half misses the goal or an injection is active."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", nargs="+", choices=get_args(Suite), default=["open", "frozen"])
    parser.add_argument("--cases", nargs="+", type=Path, metavar="FILE", help="judge these instead of the suite")
    parser.add_argument("--show", action="store_true", help="print what went wrong, but of the frozen halves")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    given = parser.parse_args(arguments)
    console = Console()
    try:
        files = _load(given)
    except (InvalidCase, OSError) as error:
        parser.error(str(error))
    with run_in_new_data_folder(), Progress(console=console, transient=True) as progress:
        task = progress.add_task("Cases", total=None)

        def advance() -> None:
            progress.advance(task)

        def show(case: ContradictionCase, history: list[list[Kept]], findings: list[Finding]) -> None:
            _show(console, case, history, findings)

        figures = {
            name: measure_cases(
                cases, advance=advance, show=show if given.show and not name.endswith("frozen") else None
            )
            for name, cases in files.items()
        }
        junk = {
            language: count_junk(language=language, advance=advance)
            for language in (() if given.cases else get_args(Language))
        }
    _print(console, figures, junk)
    if given.json:
        given.json.write_text(json.dumps(_report(figures, junk), ensure_ascii=False, indent=2) + "\n", "utf-8")
    missed = [name for name, one in figures.items() if name.endswith("open") and min(one.precision, one.recall) < GOAL]
    active = sum(counts["injection kept"] for counts in junk.values())
    return 1 if missed or active else 0


if __name__ == "__main__":
    sys.exit(main())
