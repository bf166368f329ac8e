"""Many people at once: open streams and mixed reads against one web process, driven by locust.

    python -m benchmarks.load [--streams 200] [--reads 50] [--seconds 180] [--people 50] [--json FILE]

The web process, PostgreSQL and Valkey are real and run on embedded servers in a temporary folder; the model is scripted
and takes its time for a reply, so that as many streams are open as there are people who stream. Everything shares the
machine's cores. The exit status is 1 if any request failed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.running import describe_machine, run_in_new_data_folder, run_scripted_model, run_web
from benchmarks.turn_overhead import create_memories

# Between two pieces of an answer: one takes about twenty seconds.
PAUSE_SECONDS = 4.0
# Enough for the reply to begin in the first piece: what its first token waits for is not the model.
PIECE_CHARS = 40
MEMORIES_OF_A_PERSON = 200
# Reads a second of each person who reads, as in `benchmarks.load_users`.
READS_OF_A_PERSON = 5


def measure(options: argparse.Namespace, *, console: Console) -> dict[str, Any]:
    """Put the load on and return locust's figures, by name, with the peak memory of the web process in MiB."""
    with (
        run_in_new_data_folder() as folder,
        run_scripted_model(pause=PAUSE_SECONDS, piece_chars=PIECE_CHARS) as model_url,
        run_web(model_url=model_url) as web,
    ):
        tokens = folder / "tokens"
        tokens.write_text("\n".join(_make_people(options.people, console=console)))
        readers = max(1, options.reads // READS_OF_A_PERSON)
        report = folder / "report.json"
        command = [sys.executable, "-m", "locust", "--locustfile", "benchmarks/load_users.py", "--headless"]
        command += ["--host", web.address, "--users", str(options.streams + readers), "--spawn-rate", "20"]
        command += ["--run-time", f"{options.seconds}s", "--stop-timeout", "60", "--exit-code-on-error", "0"]
        command += ["--only-summary", "--json-file", str(report.with_suffix(""))]
        environment = {"LOAD_TOKENS": str(tokens), "LOAD_STREAMS": str(options.streams)}
        console.print(f"{options.streams} people stream, {options.reads} reads a second, for {options.seconds} s …")
        subprocess.run(command, env={**os.environ, **environment}, check=True)
        return {
            **describe_machine(),
            "streams": options.streams,
            "reads_per_second": options.reads,
            "seconds": options.seconds,
            "web_peak_mib": web.read_peak_memory(),
            "requests": json.loads(report.read_text()),
        }


def _make_people(number: int, *, console: Console) -> list[str]:
    """Accounts with memories; returns their tokens."""
    from apps.accounts.models import User
    from apps.accounts.services.people import create_token

    tokens = []
    with console.status(f"Making {number} people with {MEMORIES_OF_A_PERSON} memories each"):
        for at in range(number):
            user = User.objects.create_user(f"person-{at}")
            create_memories(user, MEMORIES_OF_A_PERSON)
            tokens.append(create_token(user=user))
    return tokens


def make_table(report: dict[str, Any]) -> Table:
    """Return the figures as a table."""
    table = Table(title=f"Milliseconds; web process at most {report['web_peak_mib']:.0f} MiB", title_justify="left")
    for name in ("request", "count", "failed", "p50", "p95", "max"):
        table.add_column(name, justify="left" if name == "request" else "right")
    for entry in sorted(report["requests"], key=lambda item: str(item["name"])):
        counts = Counter({int(float(key)): count for key, count in entry["response_times"].items()})
        times = sorted(counts.elements()) or [0]
        p50, p95 = (times[int(share * (len(times) - 1))] for share in (0.5, 0.95))
        figures = (entry["num_requests"], entry["num_failures"], p50, p95, round(entry["max_response_time"]))
        table.add_row(entry["name"], *map(str, figures))
    return table


def main() -> None:
    """Measure, print the table, and write the report where one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=200, help="people who hold a stream open (default: 200)")
    parser.add_argument("--reads", type=int, default=50, help="reads a second (default: 50)")
    parser.add_argument("--seconds", type=int, default=180, help="how long (default: 180)")
    parser.add_argument("--people", type=int, default=50, help="accounts that these share (default: 50)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = parser.parse_args()
    if min(options.streams, options.reads, options.seconds, options.people) < 1:
        parser.error("all numbers have to be at least 1")
    console = Console()
    report = measure(options, console=console)
    console.print(make_table(report))
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    if any(entry["num_failures"] for entry in report["requests"]):
        sys.exit("Some requests failed.")


if __name__ == "__main__":
    main()
