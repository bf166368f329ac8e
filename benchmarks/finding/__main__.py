"""How long a search over all conversations takes for somebody with a hundred thousand messages.

    python -m benchmarks.finding [--messages 100000] [--requests 20] [--words] [--json FILE]

One person's messages and a tenth as many of another one are made on embedded servers in a temporary folder, half of
them Chinese, half English, as long as those of a chat with a model, each with a vector. What is measured is
`GET /chat/search` in this process: with words alone, which is what a reader sees first, and with what is similar.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from benchmarks.running import describe_machine, run_in_new_data_folder

if TYPE_CHECKING:
    from benchmarks.finding.measuring import Report

GOAL_MS = 300.0
"""Until the first results (issue 15)."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--requests", type=int, default=20)
    parser.add_argument("--words", action="store_true", help="make no vectors: what is similar is not found")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with run_in_new_data_folder():
        from benchmarks.finding.measuring import measure

        report = measure(messages=options.messages, requests=options.requests, vectors=not options.words)
    print_report(report)
    if options.json:
        text = json.dumps({"machine": describe_machine(), **asdict(report)}, indent=2, ensure_ascii=False)
        options.json.write_text(text + "\n", "utf-8")


def print_report(report: Report) -> None:
    """Print the figures of every search, red what misses the goal."""
    table = Table(title=f"{report.messages:,} messages, {report.characters:,} characters")
    for column in ("search", "words p50", "p95", "all p50", "p95", "conversations"):
        table.add_column(column, justify="left" if column == "search" else "right")
    for result in report.results:
        times = (result.words.p50, result.words.p95, result.all.p50, result.all.p95)
        style = "red" if result.words.p95 > GOAL_MS else None
        table.add_row(result.search, *(f"{time:.0f} ms" for time in times), str(result.found), style=style)
    Console().print(table)
    Console().print(
        f"The index of words takes {report.index_bytes / 2**20:.0f} MB beside {report.table_bytes / 2**20:.0f} MB of "
        f"messages; its words take {report.store_ms:.2f} ms a message when it is stored."
    )


if __name__ == "__main__":
    main()
