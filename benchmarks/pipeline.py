"""What happens after the reply, under load: recorded conversations through the real turn, and what becomes of them.

    python -m benchmarks.pipeline FOLDER... [--turns 1000] [--clients 4] [--show] [--json FILE]

FOLDERs are in BEIR's layout (see `apps.core.beir`). ``manage.py up`` runs as in production on a data folder of its
own, with the offline model, and several clients send what the folders' users said. In short alternating blocks the
workers are held and working, so that the same kind of turn is timed on an idle and on a busy system at the same number
of memories. Afterwards the backlog is worked off, and what was remembered is counted and judged.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from apps.core.beir import CorpusRow, InvalidFolder, read_corpus
from benchmarks import stored
from benchmarks.calls import NotAnswered, time_turn
from benchmarks.figures import Call, get_ends, get_first_tokens, get_slowdown
from benchmarks.judging import find_junk, find_near_pairs, find_repeats
from benchmarks.pipeline_report import Findings, Result, format_counts, make_report, make_table, print_findings
from benchmarks.running import Product, run_in_new_data_folder, run_product
from benchmarks.schedule import PlannedTurn, plan_blocks, select_turns, split_by_user
from benchmarks.watching import Watch, count_due, hold_workers, watch

WARM_UP_TURNS = 12
"""Not measured, by somebody who is not counted: until every program has loaded what it needs."""

STALLED_SECONDS = 120.0
"""A backlog that has not changed for so long is reported as it is."""


@dataclass(slots=True)
class Timings:
    """What the clients measured while the workers were held (`idle`) and while they were not (`busy`), the turns that
    failed by the name of their error, and the seconds they were
    held and until the last turn was `spoken`.
    """

    idle: list[Call] = field(default_factory=list)
    busy: list[Call] = field(default_factory=list)
    failed: Counter[str] = field(default_factory=Counter)
    held: float = 0.0
    spoken: float = 0.0


class Speakers:
    """The people of the folders, who have accounts and tokens, and the sessions they speak in."""

    def __init__(self, client: httpx2.Client, users: Sequence[str]) -> None:
        from apps.accounts.models import User
        from apps.accounts.services.people import create_token

        self._client = client
        tokens = {name: create_token(user=User.objects.create_user(name)) for name in users}
        self._headers = {name: {"Authorization": f"Bearer {token}"} for name, token in tokens.items()}
        self._sessions: dict[tuple[str, str], str] = {}

    def say(self, turn: PlannedTurn) -> Call:
        """Send the turn and time it; making its session, where it is the first one of it, is not timed."""
        headers = self._headers[turn.user]
        session = self._sessions.get((turn.user, turn.session))
        if session is None:
            made = self._client.post("/chat/sessions", json={}, headers=headers).raise_for_status()
            session = self._sessions[turn.user, turn.session] = made.json()["id"]
        return time_turn(self._client, session_id=session, content=turn.content, headers=headers)

    def say_all(self, chain: Sequence[PlannedTurn]) -> list[Call | str]:
        """Send one person's turns in order; one that fails becomes the name of its error, and the next is sent."""
        outcomes: list[Call | str] = []
        for turn in chain:
            try:
                outcomes.append(self.say(turn))
            except (httpx2.HTTPError, NotAnswered) as error:
                outcomes.append(type(error).__name__)
        return outcomes


class Display:
    """A line that shows how far the replay is and how much work waits."""

    def __init__(self, progress: Progress, *, total: int) -> None:
        self._progress = progress
        self._task: TaskID = progress.add_task("Turns", total=total, due=0)

    def advance(self, watched: Watch, *, turns: int) -> None:
        self._progress.update(self._task, advance=turns, due=watched.due)

    def wait_on(self, *, due: int) -> None:
        self._progress.update(self._task, description="Working off", due=due)


@contextmanager
def show_progress(console: Console, *, total: int) -> Iterator[Display]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("backlog {task.fields[due]}"), console=console, transient=True) as progress:
        yield Display(progress, total=total)


def measure(planned: Sequence[PlannedTurn], *, clients: int, console: Console) -> tuple[Result, Findings]:
    """Replay the turns by `clients` at once on a product of their own, wait for its workers, and judge."""
    users = sorted({turn.user for turn in planned})
    limits = httpx2.Limits(max_connections=clients, max_keepalive_connections=clients)
    with (
        run_in_new_data_folder() as data,
        run_product(data) as product,
        httpx2.Client(base_url=product.address, timeout=120, limits=limits) as client,
        watch(product) as watched,
        show_progress(console, total=len(planned)) as display,
    ):
        warm_up(client, display)
        watched.start_counting()
        speakers = Speakers(client, users)
        timings = replay(planned, speakers=speakers, clients=clients, product=product, watched=watched, display=display)
        started = time.perf_counter()
        left = wait_for_workers(display)
        after = time.perf_counter() - started
        watched.sample()
        findings = judge(users)
        seconds = timings.spoken - timings.held + after
        messages = stored.count_messages(users)
        result = Result(
            turns=len(planned),
            clients=clients,
            first_token=get_slowdown(idle=get_first_tokens(timings.idle), busy=get_first_tokens(timings.busy)),
            end=get_slowdown(idle=get_ends(timings.idle), busy=get_ends(timings.busy)),
            busy_with_work=round(watched.busy_with_work / max(watched.busy_samples, 1), 2),
            failed_turns=dict(timings.failed),
            seconds=round(seconds, 1),
            seconds_held=round(timings.held, 1),
            seconds_after_last_turn=round(after, 1),
            messages=messages,
            messages_per_second=round(messages / seconds, 1),
            embedded=stored.count_embedded_messages(users),
            failed_work=stored.count_failed_work(),
            work_left=left,
            memories=stored.count_memories(users),
            without_vector=findings.without_vector,
            repeats=len(findings.repeats),
            near_pairs=findings.count_near_pairs(),
            junk=len(findings.junk),
            processes=watched.get_processes(),
        )
    return result, findings


def read_turns(folders: Sequence[Path]) -> dict[str, list[PlannedTurn]]:
    """Return what every user of the folders said, each one's sessions in order of time. Raises `InvalidFolder`."""
    said: dict[str, dict[str, list[CorpusRow]]] = {}
    for folder in folders:
        for row in read_corpus(folder):
            if row.role == "user":
                user = f"{folder.resolve().name}-{row.user_id}"
                said.setdefault(user, {}).setdefault(row.session_id, []).append(row)
    return {
        user: [
            PlannedTurn(user=user, session=row.session_id, content=row.text)
            for rows in sorted(sessions.values(), key=lambda rows: rows[0].timestamp)
            for row in rows
        ]
        for user, sessions in said.items()
    }


def warm_up(client: httpx2.Client, display: Display) -> None:
    """Have turns answered and worked off for somebody of whom nothing is counted."""
    speakers = Speakers(client, ["warm-up"])
    for number in range(WARM_UP_TURNS):
        content = f"我喜欢第{number}号茶。" if number % 2 else f"I live at number {number} of the street."
        speakers.say(PlannedTurn(user="warm-up", session="warm-up", content=content))
    wait_for_workers(display)


def replay(
    planned: Sequence[PlannedTurn],
    *,
    speakers: Speakers,
    clients: int,
    product: Product,
    watched: Watch,
    display: Display,
) -> Timings:
    """Send the turns block by block."""
    timings, started = Timings(), time.perf_counter()
    with ThreadPoolExecutor(max_workers=clients) as pool:
        for block in plan_blocks(planned):
            with nullcontext() if block.busy else hold_workers(product):
                begun, watched.measuring_busy = time.perf_counter(), block.busy
                for outcomes in pool.map(speakers.say_all, split_by_user(block.turns)):
                    (timings.busy if block.busy else timings.idle).extend(
                        call for call in outcomes if isinstance(call, Call)
                    )
                    timings.failed.update(name for name in outcomes if isinstance(name, str))
                timings.held += 0.0 if block.busy else time.perf_counter() - begun
            display.advance(watched, turns=len(block.turns))
    watched.measuring_busy = False
    timings.spoken = time.perf_counter() - started
    if min(len(timings.idle), len(timings.busy)) < 2:
        raise RuntimeError(f"hardly any turn was answered: {format_counts(timings.failed)}")
    return timings


def judge(users: Sequence[str]) -> Findings:
    """Look for the memories of these users that are one too many, or that should not have gone."""
    memories = stored.list_active(users)
    return Findings(
        repeats=find_repeats(memories),
        near_pairs=find_near_pairs(memories),
        junk=find_junk(memories),
        without_vector=sum(memory.vector is None for memory in memories),
        superseded=stored.list_superseded(users),
    )


def wait_for_workers(display: Display) -> int:
    """Return once no work is due any more: 0, or what is left if nothing has changed for `STALLED_SECONDS`."""
    due, changed_at = count_due(), time.monotonic()
    while due and time.monotonic() - changed_at < STALLED_SECONDS:
        time.sleep(0.1)
        before, due = due, count_due()
        if due != before:
            changed_at = time.monotonic()
            display.wait_on(due=due)
    return due


def main() -> None:
    """Measure, print the table, and write the report where one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="conversations in BEIR's layout")
    parser.add_argument("--turns", type=int, default=1000, help="default: 1000")
    parser.add_argument("--clients", type=int, default=4, help="turns under way at once (default: 4)")
    parser.add_argument("--show", action="store_true", help="print the memories that have to be judged")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = parser.parse_args()
    if options.turns < 8 or options.clients < 1:
        parser.error("--turns has to be at least 8, and --clients at least 1")
    try:
        planned = select_turns(read_turns(options.folders), options.turns)
    except (InvalidFolder, ValueError) as error:
        sys.exit(str(error))
    console = Console()
    result, findings = measure(planned, clients=options.clients, console=console)
    if options.show:
        print_findings(findings, console)
    console.print(make_table(result))
    if options.json:
        options.json.write_text(json.dumps(make_report(result), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
