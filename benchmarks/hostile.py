"""How long a message made to take long delays other people: their small requests, every 10 ms, while one person sends
texts of 32,000 characters.

    python -m benchmarks.hostile [--kinds Chinese digits] [--seconds 3] [--json FILE]

The web process runs on embedded servers in a temporary folder, with the offline model, whose work is done in the same
process. First nobody sends anything, for comparison.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing.synchronize import Event
from pathlib import Path
from queue import Queue
from typing import Any

import httpx2
from rich.console import Console
from rich.table import Table

from benchmarks.running import describe_machine, run_in_new_data_folder, run_web
from tests.linear.hostile import LENGTH, repeat

GOAL_MS = 200.0
"""What another person's request may be delayed by at most (issue 16)."""

PAUSE = 0.01

TEXTS = {
    "nothing": "",
    "digits": repeat("1"),
    "letters": repeat("a"),
    "words": repeat("ab1 "),
    "Chinese": repeat("中"),
    "Chinese prose": repeat("我昨天和朋友去了北京的公园，天气很好。"),
    "English prose": repeat("Last Saturday I went to the park with my friend John. "),
    "spaces": "a" + repeat(" ", LENGTH - 2) + "a",
    "lines": "a" + repeat("\n", LENGTH - 2) + "a",
    "punctuation": repeat(".,;:!?-"),
    "quotes": repeat("\"'“"),
    "brackets": repeat("([{《"),
    "code": "```\n" + repeat("for (i = 0; i < 10; i++) { print(i); }\n", LENGTH - 4),
    "links": repeat("http://a.b/ "),
    "dates": repeat("12月3日, last May 5th, "),
    "commands": repeat(", remember that, 记住"),
    "names": "My name is " + repeat("a and ", LENGTH - 11),
}


@dataclass(frozen=True, slots=True)
class Delays:
    """What small requests took while texts of one kind were answered, in milliseconds. `turn`: the slowest turn."""

    kind: str
    requests: int
    median: float
    longest: float
    turns: int
    turn: float


def measure(*, kinds: Sequence[str], seconds: float, console: Console) -> list[Delays]:
    """Measure each kind of text for at least so many seconds, and one turn."""
    with run_in_new_data_folder(), run_web(model_url="") as address:
        sender, other = (_make_client(address, name) for name in ("sender", "other"))
        for client in (sender, other):
            client.get("/chat/sessions").raise_for_status()
        results = []
        for kind in kinds:
            text = TEXTS[kind]
            with _probe(address, str(other.headers["authorization"])) as times:
                turns = _send(sender, text, seconds=seconds)
            results.append(_summarize(kind, times, turns))
            console.print(f"{kind}: {results[-1].longest:.0f} ms")
        return results


def _make_client(address: str, name: str) -> httpx2.Client:
    from apps.accounts.models import User
    from apps.accounts.services.people import create_token

    token = create_token(user=User.objects.create_user(name))
    return httpx2.Client(base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=120)


def _send(client: httpx2.Client, text: str, *, seconds: float) -> list[float]:
    """Send the text again and again, each time in a new conversation; return what the turns took."""
    end, turns = time.monotonic() + seconds, list[float]()
    while time.monotonic() < end:
        if not text:
            time.sleep(PAUSE)
            continue
        session = client.post("/chat/sessions", json={}).raise_for_status().json()["id"]
        start = time.monotonic()
        client.post(f"/chat/sessions/{session}/messages", json={"content": text}).raise_for_status()
        turns.append((time.monotonic() - start) * 1000)
    return turns


@contextmanager
def _probe(address: str, authorization: str) -> Iterator[list[float]]:
    """Ask small things every 10 ms from another process; the list has what they took once the block has ended."""
    context = multiprocessing.get_context("spawn")
    stop, found = context.Event(), context.Queue()
    process = context.Process(target=_ask, args=(address, authorization, stop, found))
    process.start()
    found.get()  # it has begun
    times: list[float] = []
    try:
        yield times
    finally:
        stop.set()
        times += found.get()
        process.join()


def _ask(address: str, authorization: str, stop: Event, found: Queue[Any]) -> None:
    times: list[float] = []
    with httpx2.Client(base_url=address, headers={"Authorization": authorization}, timeout=120) as client:
        client.get("/chat/sessions?limit=1").raise_for_status()
        found.put(None)
        while not stop.is_set():
            start = time.monotonic()
            client.get("/chat/sessions?limit=1").raise_for_status()
            times.append((time.monotonic() - start) * 1000)
            time.sleep(PAUSE)
    found.put(times)


def _summarize(kind: str, times: Sequence[float], turns: Sequence[float]) -> Delays:
    ordered = sorted(times)
    return Delays(
        kind=kind,
        requests=len(ordered),
        median=round(ordered[len(ordered) // 2], 1),
        longest=round(ordered[-1], 1),
        turns=len(turns),
        turn=round(max(turns, default=0.0), 1),
    )


def make_table(results: Sequence[Delays]) -> Table:
    """Return the figures as a table."""
    table = Table(title=f"Small requests of another person, in milliseconds (goal: at most {GOAL_MS:.0f})")
    for name in ("text", "requests", "median", "longest", "turns", "slowest turn"):
        table.add_column(name, justify="left" if name == "text" else "right")
    for result in results:
        table.add_row(*(str(value) for value in asdict(result).values()))
    return table


def main() -> None:
    """Measure, print the table, and write the report where one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="for each kind of text (default: 3)")
    parser.add_argument("--kinds", nargs="+", choices=TEXTS, default=list(TEXTS), help="of texts (default: all)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = parser.parse_args()
    console = Console()
    results = measure(kinds=options.kinds, seconds=options.seconds, console=console)
    console.print(make_table(results))
    if options.json:
        report = {**describe_machine(), "goal_ms": GOAL_MS, "results": [asdict(result) for result in results]}
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
