"""Several web and worker hosts behind nginx, with a primary and a standby of PostgreSQL: how much, and what if.

    python -m benchmarks.hosts [--hosts 1 2 3] [--people 24] [--seconds 30] [--json FILE] [--png FILE]
    python -m benchmarks.hosts --failures [--people 8] [--loopback] [--json FILE]

Each host has a network namespace, an address and a user of its own where that is permitted (root on Linux), else an
address of loopback. Databases, queue, web processes, workers and proxy are started from the files of ``deploy/``; the
model is scripted and answers at once. With ``--failures``, people talk while a host, the queue and twice the primary
are lost as by a power cut; the standby is promoted by ``deploy/failover``, and the former primary follows it. Then
everything that anybody was told is looked for. The exit status is 1 if something is missing or doubled.

All of it shares the cores of one machine, so more hosts do not answer more here; the processor time of a turn tells how
many a core answers.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from rich.console import Console
from rich.table import Table

from benchmarks.plots import Chart, Line, save_plot
from benchmarks.running import describe_machine, run_scripted_model
from tests.support.installations import (
    MODEL_ANSWER,
    Installation,
    Postgres,
    is_listening,
)
from tests.support.networks import Host, can_make_namespaces, make_network, read_cpu_seconds
from tests.support.processes import wait_until
from tests.support.talking import Crowd, Person
from tests.support.tools import find_program

HOST_HEADER = {"Host": "memory.example.org"}
WARM_UP_MESSAGES = 3
"""Of each person, before anything is measured."""


@dataclass
class Site:
    """An installation that runs, its address, and a token that speaks for any end user."""

    installation: Installation
    hosts: list[Host]
    queue: Host
    proxy: Host
    nginx: str
    url: str = ""
    token: str = ""

    def make_people(self, number: int, *, prefix: str) -> list[Person]:
        return [Person(self.url, self.token, f"{prefix}-{at}", streams=bool(at % 2)) for at in range(number)]

    def start(self, host: Host) -> None:
        """Start what a host runs: a web process and both workers."""
        self.installation.start_web(host)
        self.installation.start_worker(host, "worker", queues="celery,embedding", processes=1)
        self.installation.start_worker(host, "worker-model", queues="model", processes=1)

    def read_health(self) -> dict[str, Any]:
        with httpx2.Client(base_url=self.url, headers=HOST_HEADER, timeout=15) as client:
            answer = client.get("/healthz")
            return {**answer.json(), "status": answer.status_code}

    def wait_until_healthy(self) -> None:
        def healthy() -> bool:
            try:
                return bool(self.read_health()["status"] == 200)
            except (httpx2.TransportError, ValueError):
                return False

        def all_listen() -> bool:
            addresses = [(host.address, port) for host, name, port in self.installation.webs if name in host.processes]
            return all(is_listening(*address) for address in addresses)

        wait_until(healthy, seconds=240)
        wait_until(all_listen, seconds=240)  # the proxy is healthy with one of them

    def wait_until_worked_off(self) -> None:
        """Wait until no background work is left that is due by now; summaries wait for a session to rest."""

        def done() -> bool:
            backlog = self.read_health()["backlog"] or {}
            counts = [kind for name, kind in backlog.items() if name != "summarize"]
            return bool(counts) and not any(kind["due"] or kind["claimed"] for kind in counts)

        wait_until(done, seconds=300)

    @property
    def parts(self) -> dict[str, list[int]]:
        """The process IDs of each kind of part."""
        found: dict[str, list[int]] = {}
        for host in self.installation.network.hosts:
            for name, process in host.processes.items():
                found.setdefault(name, []).append(process.pid)
        return found


@contextmanager
def run_site(*, hosts: int, namespaces: bool, durable: bool = True, console: Console) -> Iterator[Site]:
    """Run a primary with a standby, a queue, a proxy, and hosts, of which the first has beat, too."""
    nginx = find_program("nginx", package="nginx-light")
    console.print("Each host has a network of its own." if namespaces else "All hosts have loopback's address.")
    with make_network(namespaces=namespaces) as network, tempfile.NamedTemporaryFile("w", suffix=".json") as reply:
        reply.write(MODEL_ANSWER)
        reply.flush()
        outside = network.outside if namespaces else "127.0.0.1"
        with run_scripted_model(host=outside, reply_file=Path(reply.name)) as model_url:
            installation = Installation(network, model_url)
            first = installation.make_database("db1", durable=durable)
            second = installation.make_database("db2", durable=durable)
            first.make(other="0.0.0.0/0")
            second.follow(first)
            installation.use_databases(first, second)
            queue, proxy = network.make_host("queue"), network.make_host("proxy")
            machines = [network.make_host(f"host{number}") for number in range(1, hosts + 1)]
            installation.start_queue(queue)
            console.print("Migrating …")
            installation.manage(machines[0], "migrate")
            token = installation.manage(machines[0], "create_token", "service", "--create", "--service")
            site = Site(installation, machines, queue, proxy, nginx, token=token)
            for machine in machines:
                site.start(machine)
            installation.start_beat(machines[0])
            site.url = installation.start_proxy(proxy, nginx)
            site.wait_until_healthy()
            yield site


# How much


def measure(*, counts: list[int], people: int, seconds: int, namespaces: bool, console: Console) -> dict[str, Any]:
    """Return turns a second, their times, and the processor time of a turn, for each number of hosts."""
    runs = []
    with run_site(hosts=max(counts), namespaces=namespaces, console=console) as site:
        for host in site.hosts[1:]:
            host.lose()
        running = 1
        for count in sorted(counts):
            for host in site.hosts[running:count]:
                host.come_back()
                site.start(host)
            running = max(running, count)
            proxied = [entry for entry in site.installation.webs if entry[0] in site.hosts[:count]]
            site.proxy.kill("nginx")
            site.installation.webs = proxied
            site.url = site.installation.start_proxy(site.proxy, site.nginx)
            site.wait_until_healthy()
            runs.append(measure_hosts(site, count, people=people, seconds=seconds))
            console.print(f"{count} host(s): {runs[-1]['turns_per_second']:.1f} turns/s")
        version = site.installation.databases[0].execute("postgres", "SHOW server_version")
    return {**describe_machine(), "postgresql": version, "people": people, "seconds": seconds, "runs": runs}


def measure_hosts(site: Site, count: int, *, people: int, seconds: int) -> dict[str, Any]:
    """Have people talk for some seconds; return the figures of that time."""
    crowd = site.make_people(people, prefix=f"of-{count}")
    with Crowd(crowd, messages=WARM_UP_MESSAGES) as warming:
        warming.join()
    site.wait_until_worked_off()
    skipped = {id(one) for person in crowd for one in person.answered}
    before = {name: sum(map(read_cpu_seconds, pids)) for name, pids in site.parts.items()}
    began = time.monotonic()
    with Crowd(crowd):
        threading.Event().wait(seconds)
    elapsed = time.monotonic() - began
    said = [one for person in crowd for one in person.answered if id(one) not in skipped]
    at_end = {name: sum(map(read_cpu_seconds, pids)) for name, pids in site.parts.items()}
    site.wait_until_worked_off()
    after = {name: sum(map(read_cpu_seconds, pids)) for name, pids in site.parts.items()}
    # Replies are done when people stop; what they left to workers is counted until it is done, too.
    spent = {name: (after if "worker" in name else at_end)[name] - before.get(name, 0.0) for name in after}
    times = sorted(one.seconds * 1000 for one in said)
    return {
        "hosts": count,
        "turns": len(said),
        "turns_per_second": round(len(said) / elapsed, 2),
        "p50_ms": round(statistics.median(times)),
        "p95_ms": round(times[int(len(times) * 0.95)]),
        "repeated": sum(one.attempts > 1 for one in said),
        "cpu_ms_per_turn": {name: round(value * 1000 / len(said), 1) for name, value in sorted(spent.items())},
        "load": round(os.getloadavg()[0], 1),
    }


# What if


def try_failures(*, people: int, namespaces: bool, console: Console) -> dict[str, Any]:
    """Lose parts while people talk; return what that cost, and what is missing or doubled in the end (nothing)."""
    steps: list[dict[str, Any]] = []
    with run_site(hosts=3, namespaces=namespaces, durable=False, console=console) as site:
        first, second = site.installation.databases
        crowd_people = site.make_people(people, prefix="person")
        with Crowd(crowd_people) as crowd:

            def step(name: str, act: Callable[[], None]) -> None:
                wait_for_turns(crowd, people * 2)
                began = time.monotonic()
                act()
                acted = time.monotonic() - began
                wait_for_turns(crowd, people * 2)
                steps.append({"step": name, "seconds": round(acted, 1), "gap": round(find_gap(crowd, began), 1)})
                console.print(f"{name}: {acted:.1f} s; longest time without an answer {steps[-1]['gap']:.1f} s")

            step("host2 is lost", site.hosts[1].lose)
            step("host2 is back", lambda: restart(site, site.hosts[1]))
            step("the queue is killed and started", lambda: restart_queue(site))
            step("the primary is lost, the standby promoted", lambda: fail_over(first, second))
            step("the former primary follows", lambda: first.rejoin(second))
            step("host3 is lost", site.hosts[2].lose)
            step("the new primary is lost, the former one promoted", lambda: fail_over(second, first))
        site.wait_until_worked_off()
        faults = [fault for person in crowd_people for fault in person.find_faults()]
        failed = sum(kind["failed"] for kind in site.read_health()["backlog"].values())
        vectors = int(first.execute("jiyi", COUNT_WITHOUT_VECTOR))
        problems: dict[str, int] = {}
        for person in crowd_people:
            for name, number in person.problems.items():
                problems[name] = problems.get(name, 0) + number
    return {
        **describe_machine(),
        "namespaces": namespaces,
        "people": people,
        "answered": crowd.count(),
        "longest_turn_seconds": round(max(one.seconds for person in crowd_people for one in person.answered), 1),
        "steps": steps,
        "seen_by_clients": problems,
        "faults": faults,
        "failed_work": failed,
        "messages_without_vector": vectors,
    }


COUNT_WITHOUT_VECTOR = """
SELECT count(*) FROM conversation AS message
WHERE role IN ('user', 'assistant')
  AND NOT EXISTS (SELECT FROM conversation_embeddings WHERE message_id = message.id)
"""


def wait_for_turns(crowd: Crowd, number: int) -> None:
    """Wait until so many more messages have been answered; raise what a person ran into."""
    wanted = crowd.count() + number
    wait_until(lambda: crowd.count() >= wanted or any(person.error for person in crowd.people), seconds=240)
    for person in crowd.people:
        if person.error is not None:
            raise person.error


def find_gap(crowd: Crowd, since: float) -> float:
    """The longest time, in seconds, in which nobody was answered."""
    ends = sorted(one.began + one.seconds for person in crowd.people for one in list(person.answered))
    ends = [since, *(end for end in ends if end > since)]
    return max((later - earlier for earlier, later in itertools.pairwise(ends)), default=0.0)


def restart(site: Site, host: Host) -> None:
    host.come_back()
    site.start(host)
    site.wait_until_healthy()


def restart_queue(site: Site) -> None:
    site.queue.kill("valkey")
    site.installation.start_queue(site.queue)


def fail_over(primary: Postgres, standby: Postgres) -> None:
    """The primary's host is lost without a word; the standby takes over, as an operator would have it."""
    primary.host.lose()
    standby.script("promote.sh", standby.data, primary.host.address, str(primary.port))


# Report


def make_table(report: dict[str, Any]) -> Table:
    """Return the figures of either kind as a table."""
    if "steps" in report:
        table = Table(title=f"{report['answered']} messages answered", title_justify="left")
        for name in ("step", "seconds", "longest time without an answer"):
            table.add_column(name, justify="left" if name == "step" else "right")
        for one in report["steps"]:
            table.add_row(one["step"], str(one["seconds"]), str(one["gap"]))
        return table
    parts = sorted({name for run in report["runs"] for name in run["cpu_ms_per_turn"]})
    table = Table(title="CPU in ms per turn", title_justify="left")
    for name in ("hosts", "turns/s", "p50 ms", "p95 ms", *parts):
        table.add_column(name, justify="right")
    for run in report["runs"]:
        spent = [str(run["cpu_ms_per_turn"].get(name, "")) for name in parts]
        table.add_row(*map(str, (run["hosts"], run["turns_per_second"], run["p50_ms"], run["p95_ms"], *spent)))
    return table


def draw(report: dict[str, Any], path: Path) -> None:
    """Draw the figures of one, two and three hosts."""
    runs = report["runs"]
    positions = [str(run["hosts"]) for run in runs]
    times = [Line(label, [run[key] for run in runs]) for label, key in (("p50", "p50_ms"), ("p95", "p95_ms"))]
    groups = {"web": ["web"], "PostgreSQL": ["postgres"], "workers": ["worker", "worker-model"]}
    groups["proxy, queue, beat"] = ["nginx", "valkey", "beat"]
    spent = [
        Line(label, [round(sum(run["cpu_ms_per_turn"].get(name, 0.0) for name in names), 1) for run in runs])
        for label, names in groups.items()
    ]
    charts = [
        Chart(
            "Turns a second",
            "hosts",
            "turns/s",
            positions,
            [Line("turns/s", [run["turns_per_second"] for run in runs])],
            "bars",
        ),
        Chart("Time of a turn", "hosts", "ms", positions, times, "bars"),
        Chart("Processor time of a turn", "hosts", "ms", positions, spent, "bars"),
    ]
    save_plot(path, charts, title=f"{report['people']} people; all hosts share {report['cpus']} cores")


def main() -> None:
    """Measure or try failures, print a table, and write the report where one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, nargs="+", default=[1, 2, 3], help="how many (default: 1 2 3)")
    parser.add_argument("--people", type=int, help="who talk at the same time (default: 24; 8 with --failures)")
    parser.add_argument("--seconds", type=int, default=30, help="of each number of hosts (default: 30)")
    parser.add_argument("--failures", action="store_true", help="lose hosts, the queue and primaries")
    parser.add_argument(
        "--loopback", action="store_true", help="make no network namespaces even where that is permitted"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    parser.add_argument("--png", type=Path, metavar="FILE", help="draw the figures")
    options = parser.parse_args()
    if min(*options.hosts, options.people or 1, options.seconds) < 1:
        parser.error("all numbers have to be at least 1")
    console = Console()
    namespaces = can_make_namespaces() and not options.loopback
    if options.failures:
        report = try_failures(people=options.people or 8, namespaces=namespaces, console=console)
    else:
        report = measure(
            counts=options.hosts,
            people=options.people or 24,
            seconds=options.seconds,
            namespaces=namespaces,
            console=console,
        )
    console.print(make_table(report))
    if options.json:
        options.json.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if options.png and not options.failures:
        draw(report, options.png)
    if options.failures:
        console.print(f"What clients saw meanwhile: {report['seen_by_clients']}")
        console.print(f"The longest that somebody waited for an answer: {report['longest_turn_seconds']} s")
        bad = (*report["faults"], *(["failed work"] if report["failed_work"] else []))
        if bad or report["messages_without_vector"]:
            sys.exit(f"Something is wrong: {bad}, {report['messages_without_vector']} messages without a vector")
        console.print("Nothing that was answered is missing or doubled; all background work is done.")


if __name__ == "__main__":
    main()
