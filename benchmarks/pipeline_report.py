"""The figures of `benchmarks.pipeline`, and how they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.figures import Slowdown
from benchmarks.judging import SAME_COSINE, NearPair, Remembered, Verdict
from benchmarks.running import describe_machine
from benchmarks.watching import ProcessFigures

GOAL_RATIO = 1.3
"""How many times as long a reply may take while the workers are busy (issue 3)."""


@dataclass(frozen=True, slots=True)
class Result:
    """The figures. `seconds` is the time in which the workers could work, from the first turn to the empty backlog;
    `seconds_held` comes on top. `busy_with_work` is the share of the busy time in which work was due. `messages` are
    those of both sides. Counts by name: `failed_turns` and `failed_work` by error, `memories` by kind and status.
    """

    turns: int
    clients: int
    first_token: Slowdown
    end: Slowdown
    busy_with_work: float
    failed_turns: dict[str, int]
    seconds: float
    seconds_held: float
    seconds_after_last_turn: float
    messages: int
    messages_per_second: float
    embedded: int
    failed_work: dict[str, int]
    work_left: int
    memories: dict[str, dict[str, int]]
    without_vector: int
    repeats: int
    near_pairs: dict[str, int]
    junk: int
    processes: list[ProcessFigures]


@dataclass(frozen=True, slots=True)
class Findings:
    """The active memories that are one too many, those that may be, and how many cannot be found by meaning; and the
    atomic ones that another took the place of, with it.
    """

    repeats: list[str]
    near_pairs: list[NearPair]
    junk: list[Remembered]
    without_vector: int
    superseded: list[tuple[str, str]]

    def count_near_pairs(self) -> dict[str, int]:
        """Return the number of near pairs by verdict."""
        return {verdict.value: sum(pair.verdict is verdict for pair in self.near_pairs) for verdict in Verdict}


def make_table(result: Result) -> Table:
    """Return the figures as one table; a goal that is missed stands in red."""
    table = Table(title=f"{result.turns} turns, {result.clients} at once", title_justify="left")
    table.add_column("figure")
    table.add_column("value", justify="right")
    table.add_column("goal", justify="right")

    def add(name: str, value: object, *, goal: str = "", met: bool = True, end: bool = False) -> None:
        table.add_row(name, str(value), goal, style="" if met else "red", end_section=end)

    for name, slow in (("first token", result.first_token), ("end of the reply", result.end)):
        add(f"{name}, workers held, p50 / p95", f"{slow.idle.p50:.0f} / {slow.idle.p95:.0f} ms")
        add(f"{name}, workers busy, p50 / p95", f"{slow.busy.p50:.0f} / {slow.busy.p95:.0f} ms")
        met = max(slow.ratio_p50, slow.ratio_p95) <= GOAL_RATIO
        add(f"{name}, times as long", f"{slow.ratio_p50:.2f} / {slow.ratio_p95:.2f}", goal=f"≤ {GOAL_RATIO}", met=met)
    add("share of the busy time with work due", f"{result.busy_with_work:.0%}")
    add("turns that failed", format_counts(result.failed_turns), goal="0", met=not result.failed_turns, end=True)

    add("seconds until all was done", result.seconds)
    add("of these after the last turn", result.seconds_after_last_turn)
    add("messages", result.messages)
    add("messages/s of the pipeline", result.messages_per_second)
    every = result.embedded == result.messages
    add("messages embedded", result.embedded, goal=str(result.messages), met=every)
    add("work that failed for good", format_counts(result.failed_work), goal="0", met=not result.failed_work)
    add("work left undone", result.work_left, goal="0", met=not result.work_left, end=True)

    for kind, statuses in result.memories.items():
        add(f"{kind} memories", ", ".join(f"{count} {status}" for status, count in sorted(statuses.items())) or 0)
    add("active ones without a vector", result.without_vector, goal="0", met=not result.without_vector)
    add("duplicates by text", result.repeats, goal="0", met=not result.repeats)
    for verdict, count in result.near_pairs.items():
        goal = "0" if verdict == Verdict.SAME.value else ""
        add(f"pairs over cosine {SAME_COSINE}: {verdict}", count, goal=goal, met=not (goal and count))
    add("from questions, thanks and the like", result.junk, goal="0", met=not result.junk, end=True)

    for process in result.processes:
        value = f"{process.peak_mb} MB, {process.cpu_seconds} s"
        add(f"{process.program}: largest of {process.processes}, processor time", value)
    return table


def format_counts(counts: Mapping[str, int]) -> str:
    """Return counts by name in one line."""
    return ", ".join(f"{count} × {name}" for name, count in counts.items()) or "0"


def print_findings(findings: Findings, console: Console) -> None:
    """Print the memories to be judged by the reader."""
    for text in findings.repeats:
        console.print(f"[bold]twice[/]  {text}", highlight=False)
    for pair in findings.near_pairs:
        console.print(f"[bold]{pair.cosine:.3f}[/]  {pair.verdict.value}", highlight=False)
        console.print(f"  {pair.first}\n  {pair.second}", highlight=False, markup=False)
    for old, new in findings.superseded:
        console.print("[bold]superseded[/]  for you to judge", highlight=False)
        console.print(f"  {old}\n  by: {new}", highlight=False, markup=False)
    for memory in findings.junk:
        console.print(f"[bold]junk[/]  {memory.kind}", highlight=False)
        console.print(f"  {memory.text}\n  said: {memory.said}", highlight=False, markup=False)


def make_report(result: Result) -> dict[str, Any]:
    """Return the figures, and what they were measured on, for a JSON file."""
    return {**describe_machine(), "goal_ratio": GOAL_RATIO, **asdict(result)}
