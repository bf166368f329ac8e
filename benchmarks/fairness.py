"""What one person's import costs another: how long the background work of a few turns takes while 3,000 imported turns
wait, and alone.

    python -m benchmarks.fairness [--turns 3000] [--json FILE]

Everything that ``manage.py up`` starts runs on embedded servers in a temporary folder, with the offline model.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx2
from rich.console import Console
from rich.table import Table

from benchmarks.running import describe_machine, run_in_new_data_folder, run_product
from tests.support.processes import wait_until

IN_ONE_SESSION = 500
SAID = ("I live in York.", "My cat is called Nemo.", "我每周六都去打羽毛球。")
IMPORTED = 10
"""Turns that the other person imports as well."""

LONGEST_SECONDS = 900


@dataclass(frozen=True, slots=True)
class Wait:
    """How long the other person's work took, in seconds, and how much of the import was left then, of its work."""

    what: str
    seconds: float
    left: int


def measure(*, turns: int, console: Console) -> list[Wait]:
    """Measure turns of the other person alone, then turns and an import of theirs beside the large one."""
    with run_in_new_data_folder() as folder, run_product(folder) as product:
        importer, other = (Person(product.address, name) for name in ("importer", "other"))
        other.wait("not measured: until the workers are there", beside=importer, do=other.talk)
        waits = [other.wait("turns, alone", beside=importer, do=other.talk)]
        start = time.monotonic()
        for first in range(0, turns, IN_ONE_SESSION):
            importer.bring(range(first, min(first + IN_ONE_SESSION, turns)))
        console.print(f"{turns} turns were sent in {time.monotonic() - start:.0f} s")
        waits.append(other.wait("turns, beside the import", beside=importer, do=other.talk))
        brought = f"an import of {IMPORTED} turns, beside the large one"
        waits.append(other.wait(brought, beside=importer, do=lambda: other.bring(range(IMPORTED))))
        return waits


class Person:
    """Somebody with a client of their own."""

    def __init__(self, address: str, name: str) -> None:
        from apps.accounts.models import User
        from apps.accounts.services.people import create_token

        self.user = User.objects.create_user(name)
        headers = {"Authorization": f"Bearer {create_token(user=self.user)}"}
        self._client = httpx2.Client(base_url=address, headers=headers, timeout=300)

    def talk(self) -> None:
        """Say a few things, each in a turn."""
        session = self._new_session()
        for text in SAID:
            self._client.post(f"/chat/sessions/{session}/messages", json={"content": text}).raise_for_status()

    def bring(self, numbers: range) -> None:
        """Import turns into a new conversation."""
        messages = [
            {"role": role, "content": text}
            for number in numbers
            for role, text in (("user", f"My locker in gym {number} is number {number}."), ("assistant", "I see."))
        ]
        self._client.post(f"/chat/sessions/{self._new_session()}/turns", json={"messages": messages}).raise_for_status()

    def count_work(self) -> int:
        """Return how much is left to do of theirs."""
        from apps.conversations.models import Work

        return Work.objects.filter(user=self.user).count()

    def wait(self, what: str, *, beside: Person, do: Callable[[], object]) -> Wait:
        """Do something and wait until all the work it leaves is done; `left`: what the other one then waits for."""
        do()
        start = time.monotonic()
        wait_until(lambda: self.count_work() == 0, seconds=LONGEST_SECONDS)
        return Wait(what, round(time.monotonic() - start, 1), beside.count_work())

    def _new_session(self) -> str:
        return str(self._client.post("/chat/sessions", json={}).raise_for_status().json()["id"])


def make_table(waits: Sequence[Wait]) -> Table:
    """Return the figures as a table."""
    table = Table(title="Until the background work of one person is done")
    for name in ("what they did", "seconds", "left of the import's work"):
        table.add_column(name, justify="left" if name.startswith("what") else "right")
    for wait in waits:
        table.add_row(*(str(value) for value in asdict(wait).values()))
    return table


def main() -> None:
    """Measure, print the table, and write the report where one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=3_000, help="imported turns (default: 3000)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = parser.parse_args()
    console = Console()
    waits = measure(turns=options.turns, console=console)
    console.print(make_table(waits))
    if options.json:
        report = {**describe_machine(), "turns": options.turns, "waits": [asdict(wait) for wait in waits]}
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
