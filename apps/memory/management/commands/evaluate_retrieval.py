"""``manage.py evaluate_retrieval FOLDER... [--k 5 10] [--json FILE] [--ablate] [--explain QUERY_ID]``: how well atomic
memories are found, and why.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NoReturn, cast

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from apps.core.beir import InvalidFolder
from apps.memory.evaluation.report import (
    NDCG_DEPTH,
    Figures,
    make_ablation_table,
    make_explanation,
    make_table,
    summarize_rankings,
)
from apps.memory.evaluation.run import evaluate, read_folders
from apps.memory.evaluation.types import Folder

MAX_DEPTH = 50
PIPE_WIDTH = 140
"""Characters of a line where no terminal says how many there are."""

INTERRUPTED = 130
"""The exit code of a program that Ctrl-C ended."""


class Command(BaseCommand):
    help = (
        "Measure the retrieval of atomic memories on BEIR folders (corpus.jsonl, queries.jsonl, qrels/test.tsv). Each "
        "row becomes one active memory of a temporary account, and each query is run as in a turn. Prints "
        "recall, hit rate, MRR, NDCG and latency per folder and category. The accounts are deleted at the end, also "
        "after Ctrl-C."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
        parser.add_argument("--k", nargs="+", type=int, default=[5, 10], help="depths of recall and hit rate (5 10)")
        parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results to FILE")
        parser.add_argument("--ablate", action="store_true", help="also show what recall each feature is worth")
        parser.add_argument("--explain", metavar="QUERY_ID", help="show the parts of the scores of one query's answers")

    def handle(self, *args: Any, **options: Any) -> None:
        depths = sorted(set(options["k"]))
        if not 1 <= depths[0] <= depths[-1] <= MAX_DEPTH:
            raise CommandError(f"--k takes whole numbers from 1 to {MAX_DEPTH}.")
        try:
            folders = read_folders(options["folders"])
        except InvalidFolder as error:
            raise CommandError(str(error)) from error
        explain = options["explain"]
        if explain and not any(query.id == explain for folder in folders for query in folder.queries):
            raise CommandError(f"--explain: there is no query {explain!r} in these folders.")
        try:
            with _interruptible():
                results = {
                    folder.name: self._evaluate(folder, depths, ablate=options["ablate"], explain=explain)
                    for folder in folders
                }
        except KeyboardInterrupt:
            raise CommandError("Stopped. The temporary accounts were deleted.", returncode=INTERRUPTED) from None
        if options["json"]:
            self._write_json(options["json"], results)

    def _evaluate(self, folder: Folder, depths: list[int], *, ablate: bool, explain: str | None) -> Figures:
        with self._show(folder) as advance:
            rankings = evaluate(folder, limit=max(*depths, NDCG_DEPTH), advance=advance, ablate=ablate, explain=explain)
        figures = summarize_rankings(rankings, depths=depths)
        width = None if self.stdout.isatty() else PIPE_WIDTH
        console = Console(file=cast(IO[str], self.stdout), width=width)
        console.print(make_table(folder.name, figures))
        if ablate:
            console.print(make_ablation_table(folder.name, rankings, depths=depths))
        for ranking in rankings:
            if ranking.explained:
                console.print(make_explanation(ranking), markup=False)
        if late := sum(ranking.late for ranking in rankings):
            self.stderr.write(f"{late} queries were not embedded in time, so only keywords were used.")
        return figures

    @contextmanager
    def _show(self, folder: Folder) -> Iterator[Callable[[], None]]:
        """A progress bar for people; nothing in files and pipes."""
        console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task(folder.name, total=len(folder.corpus) + len(folder.queries))
            yield lambda: progress.advance(task)

    def _write_json(self, path: Path, results: dict[str, Figures]) -> None:
        try:
            path.write_text(json.dumps(results, ensure_ascii=False, indent=2) + "\n", "utf-8")
        except OSError as error:
            raise CommandError(f"{path}: cannot be written: {error.strerror}") from error


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let the first Ctrl-C or TERM end the run; while it cleans up, further ones do nothing."""
    numbers = (signal.SIGINT, signal.SIGTERM)

    def interrupt(number: int, frame: object) -> NoReturn:
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = [signal.signal(each, interrupt) for each in numbers]
    try:
        yield
    finally:
        for each, handler in zip(numbers, before, strict=True):
            signal.signal(each, handler)
