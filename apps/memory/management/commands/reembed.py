"""``manage.py reembed [--model NAME]``: change the embedding model in place, while search keeps working (V2)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import InterfaceError, OperationalError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from apps.core.errors import JiyiError
from apps.core.llm.client import get_embedder, get_embedder_name
from apps.memory.vectors.reembedding import BATCH, Progress, Stage, hold_reembedding, reembed

INTERRUPTED = 130  # the exit code of a program that Ctrl-C ended


class Show(Protocol):
    """Takes note of progress."""

    def __call__(self, progress: Progress) -> None: ...


class Command(BaseCommand):
    help = (
        "Create all vectors again with another embedding model, by default the configured one. Search keeps using the "
        "previous model until all are done. You can stop the command at any time; the next run continues."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--model", metavar="NAME", help="model to use instead of EMBEDDING_MODEL")
        parser.add_argument("--batch", type=int, default=BATCH, help=f"batch size, 1 to 1000 (default: {BATCH})")

    def handle(self, *args: Any, **options: Any) -> None:
        if not 1 <= options["batch"] <= 1000:
            raise CommandError("--batch must be from 1 to 1000.")
        done: dict[Stage, int] = dict.fromkeys(Stage, 0)
        try:
            name = get_embedder(options["model"]).name
            with hold_reembedding() as keep, _show() as show:
                for progress in reembed(name=name, batch=options["batch"]):
                    keep()
                    done[progress.stage] = progress.done
                    show(progress)
        except JiyiError as error:
            raise CommandError(error.message) from error
        except (OperationalError, InterfaceError) as error:
            reason = str(error).partition("\n")[0]
            raise CommandError(
                f"The database failed ({reason}). Progress is kept; run the command again to continue."
            ) from error
        except KeyboardInterrupt:
            raise CommandError("Stopped. Run the command again to continue.", returncode=INTERRUPTED) from None
        self.stdout.write(
            f"Search uses {name}. Embedded now: {done[Stage.MESSAGES]} messages, {done[Stage.MEMORIES]} memories; "
            f"{done[Stage.OLD_VECTORS]} old vectors deleted."
        )
        if name != get_embedder_name():
            self.stderr.write(f"Set EMBEDDING_MODEL={name}: the configuration still says {get_embedder_name()}.")


@contextmanager
def _show() -> Iterator[Show]:
    """A progress bar for each stage, for people; nothing in files and pipes."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda progress: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bars(*columns, console=console) as bars:
        tasks = {stage: bars.add_task(stage, total=0, visible=False) for stage in Stage}
        yield lambda progress: bars.update(
            tasks[progress.stage], completed=progress.done, total=progress.total, visible=True
        )
