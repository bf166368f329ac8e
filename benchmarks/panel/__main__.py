"""How long the pages of the panel take for somebody with a hundred thousand memories, and with how many queries.

    python -m benchmarks.panel [--memories 100000] [--requests 20] [--only WORD] [--json FILE]

The rows are made on embedded servers in a temporary folder, with all that services derive from texts. Every page is
asked for in this process, as its owner and as staff; what is told are the median, the 95th percentile and the number
of queries.
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
    from benchmarks.panel.measuring import Result

GOAL_MS, GOAL_QUERIES = 300.0, 20
"""Of the 95th percentile, and of queries a page (issue 4)."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--requests", type=int, default=20)
    parser.add_argument("--only", default="", help="measure pages with this in their name")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with run_in_new_data_folder():
        from benchmarks.panel.measuring import measure

        results = measure(memories=options.memories, requests=options.requests, only=options.only)
    print_results(results, title=f"{options.memories:,} memories of each kind")
    if options.json:
        report = {"machine": describe_machine(), "memories": options.memories, "results": [*map(asdict, results)]}
        options.json.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", "utf-8")


def print_results(results: list[Result], *, title: str) -> None:
    """Print the figures of every page, red what misses the goal."""
    table = Table(title=title)
    for column in ("page", "who", "median ms", "p95 ms", "queries"):
        table.add_column(column, justify="left" if column in ("page", "who") else "right")
    for result in results:
        slow = result.p95 > GOAL_MS or result.queries > GOAL_QUERIES or result.status != 200
        queries = str(result.queries) if result.status == 200 else f"status {result.status}"
        style = "red" if slow else None
        table.add_row(result.page, result.who, f"{result.median:.0f}", f"{result.p95:.0f}", queries, style=style)
    Console().print(table)


if __name__ == "__main__":
    main()
