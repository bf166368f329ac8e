"""An installation as ``deploy/`` describes it: several web and worker processes of several users, behind nginx.

PostgreSQL and Valkey are those of the product's own packages, as servers on the network: Debian 12 has neither a
PostgreSQL with pgvector 0.8 nor Valkey.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.installations import MODEL_ANSWER, Installation, is_listening
from tests.support.networks import Host, make_network
from tests.support.processes import wait_until
from tests.support.scripted_model import ScriptedModel
from tests.support.talking import Crowd, Person
from tests.support.tools import find_or_install

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

HOST = {"Host": "memory.example.org"}


@dataclass
class Running:
    """What runs, its address behind the proxy, and a token that speaks for any end user."""

    installation: Installation
    model: ScriptedModel
    first: Host
    second: Host
    url: str
    token: str
    password: str

    def get(self, path: str, **headers: str) -> httpx2.Response:
        with httpx2.Client(base_url=self.url, timeout=30) as client:
            return client.get(path, headers={**HOST, **headers})

    def health(self) -> dict[str, Any]:
        return dict(self.get("/healthz").json())

    def client(self, name: str) -> httpx2.Client:
        headers = {**HOST, "Authorization": f"Bearer {self.token}", "X-End-User": name}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=200)


def start_host(installation: Installation, host: Host) -> None:
    """What a host of compose or systemd runs."""
    installation.start_web(host)
    installation.start_worker(host, "worker", queues="celery,embedding", processes=1)
    installation.start_worker(host, "worker-model", queues="model", processes=1)


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    nginx = find_or_install("nginx", package="nginx-light")
    with make_network() as network, ScriptedModel() as model:
        model.default = lambda _request: MODEL_ANSWER
        installation = Installation(network, model.base_url)
        database = installation.make_database("database", durable=False)
        database.make(other="127.0.0.1/32")
        installation.use_databases(database)
        queue, first, second, proxy = map(network.make_host, ("queue", "first", "second", "proxy"))
        installation.start_queue(queue)
        installation.manage(first, "migrate")
        found = re.search(r"password: (\S+)", installation.manage(first, "ensure_first_account"))
        assert found
        token = installation.manage(first, "create_token", "service", "--create", "--service")
        for host in (first, second):
            start_host(installation, host)
        installation.start_beat(first)
        url = installation.start_proxy(proxy, nginx)
        running = Running(installation, model, first, second, url, token, found[1])

        def healthy() -> bool:
            try:
                return running.get("/healthz").status_code == 200
            except httpx2.TransportError:
                return False

        try:
            wait_until(healthy, seconds=240)
        except AssertionError:
            logs = [f"{host.name}/{name}:\n{host.read_log(name)}" for host in network.hosts for name in host.processes]
            pytest.fail("\n".join(logs))
        yield running


def test_probes_pages_and_static_files_come_through(running: Running) -> None:
    assert [running.get(path).status_code for path in ("/livez", "/readyz", "/login", "/metrics")] == [
        200,
        200,
        200,
        404,
    ]
    sheet = next(Path("static/chat/css").glob("*.css"))
    answer = running.get(f"/static/chat/css/{sheet.name}", **{"Accept-Encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.text == sheet.read_text()


def test_a_file_of_a_hundred_megabytes_passes(running: Running) -> None:
    line = json.dumps({"role": "user", "content": "x" * 10_000, "session": "long"}) + "\n"
    file = io.BytesIO(line.encode() * (100 * 1024**2 // len(line) + 1))
    with running.client("importer") as client:
        answer = client.post("/memory/imports", files={"file": ("past.jsonl", file)}, data={"dry_run": "true"})
    assert answer.status_code == 200, answer.text
    assert answer.json()["found"]["messages"] == len(file.getvalue()) // len(line)


def test_a_browser_is_logged_in_at_all_web_processes(running: Running) -> None:
    addresses = [f"http://{host.address}:{port}" for host, _name, port in running.installation.webs]
    secure = {**HOST, "X-Forwarded-Proto": "https", "Referer": "https://memory.example.org/login"}
    with httpx2.Client(timeout=200, headers=secure) as client:
        page = client.get(f"{addresses[0]}/login")
        (token,) = set(re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text))
        cookies = {"Cookie": "; ".join(f"{name}={value}" for name, value in page.cookies.items())}
        form = {"username": "admin", "password": running.password, "csrfmiddlewaretoken": token}
        entered = client.post(f"{addresses[1]}/login", data=form, headers=cookies)
        assert entered.status_code == 302, entered.text
        session = {"Cookie": f"sessionid={entered.cookies['sessionid']}"}
        assert [client.get(f"{address}/", headers=session).status_code for address in addresses] == [200, 200]


def test_killed_web_processes_and_workers_lose_nothing(running: Running) -> None:
    installation = running.installation
    people = [Person(running.url, running.token, f"person-{at}", streams=bool(at % 2)) for at in range(6)]
    with Crowd(people) as crowd:
        for host, name, queues in (
            (running.first, "web", ""),
            (running.second, "worker", "celery,embedding"),
            (running.second, "web", ""),
            (running.first, "worker-model", "model"),
            (running.first, "web", ""),
        ):
            said = crowd.count()
            wait_until(lambda said=said: crowd.count() >= said + 12)  # type: ignore[misc]
            host.kill(name)
            said = crowd.count()
            wait_until(lambda said=said: crowd.count() >= said + 12)  # type: ignore[misc]
            if queues:
                installation.start_worker(host, name, queues=queues, processes=1)
            else:
                installation.start_web(host, name)
    assert [person.find_faults() for person in people] == [[]] * len(people)
    assert sum(person.problems.total() for person in people) > 0  # the kills were felt, and mended by sending again

    def done() -> bool:
        backlog = running.health()["backlog"]
        return all(not (kind["due"] or kind["claimed"]) for name, kind in backlog.items() if name != "summarize")

    wait_until(done, seconds=180)
    assert sum(kind["failed"] for kind in running.health()["backlog"].values()) == 0
    wait_until(lambda: running.get("/healthz").status_code == 200)
    for host, _name, port in installation.webs:
        wait_until(lambda address=(host.address, port): is_listening(*address))  # type: ignore[misc]
