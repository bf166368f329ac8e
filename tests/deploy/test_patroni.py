"""A primary is cut off while people talk, and Patroni promotes the standby: nothing that was answered is lost.

Each database host has a network of its own. Root on Debian installs patroni and etcd-server; where they are missing,
and where network namespaces cannot be made, the tests are skipped.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field

import httpx2
import pytest

from tests.support.installations import MODEL_ANSWER, Installation, Postgres
from tests.support.namespaces import ADDRESSES, make_bridge
from tests.support.networks import make_network
from tests.support.patroni import TTL_SECONDS, Cluster
from tests.support.processes import wait_until
from tests.support.scripted_model import ScriptedModel
from tests.support.talking import Crowd, Person
from tests.support.tools import find_or_install

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(900),
    pytest.mark.allow_hosts(["127.0.0.1", "::1", ADDRESSES]),
]

WITHOUT_VECTOR = """
SELECT count(*) FROM conversation AS message
WHERE role IN ('user', 'assistant')
  AND NOT EXISTS (SELECT FROM conversation_embeddings WHERE message_id = message.id)
"""


@dataclass
class Running:
    """A running installation on two hosts that Patroni looks after, and a token that speaks for any end user."""

    cluster: Cluster
    url: str
    token: str

    def read_health(self) -> httpx2.Response | None:
        try:
            return httpx2.get(f"{self.url}/healthz", headers={"Host": "localhost"}, timeout=15)
        except httpx2.TransportError:
            return None

    def is_healthy(self) -> bool:
        health = self.read_health()
        return health is not None and health.is_success

    def is_worked_off(self) -> bool:
        """Whether no background work is left that is due by now; summaries wait for a session to rest."""
        health = self.read_health()
        backlog = (health.json()["backlog"] if health else None) or {}
        counts = [kind for name, kind in backlog.items() if name != "summarize"]
        return bool(counts) and not any(kind["due"] or kind["claimed"] or kind["failed"] for kind in counts)


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with ExitStack() as stack:
        network = stack.enter_context(make_network())
        bridge = stack.enter_context(make_bridge(network))
        etcd = find_or_install("etcd", package="etcd-server")
        patroni = find_or_install("patroni", package="patroni")
        cluster = stack.enter_context(closing(Cluster(bridge, patroni, bridge.make_host("etcd"))))
        cluster.start(etcd)
        model = stack.enter_context(ScriptedModel())
        model.default = lambda _request: MODEL_ANSWER
        installation = Installation(network, model.base_url)
        installation.use_databases(*cluster.databases)
        queue, host = network.make_host("queue"), network.make_host("host")
        installation.start_queue(queue)
        installation.manage(host, "migrate")
        token = installation.manage(host, "create_token", "service", "--create", "--service")
        installation.start_web(host)
        installation.start_worker(host, "worker", queues="celery,embedding,model", processes=1)
        installation.start_beat(host)
        (_host, _name, port) = installation.webs[0]
        running = Running(cluster, f"http://{host.address}:{port}", token)
        try:
            wait_until(running.is_healthy, seconds=240)
        except AssertionError:
            pytest.fail("\n".join(host.read_log(name) for name in host.processes))
        cluster.execute(cluster.find_primary()[0], "CREATE TABLE witness (word text)")
        yield running


@dataclass
class Writer:
    """Somebody on a host itself who writes to its database once it is cut off, and when the database refused them."""

    cluster: Cluster
    database: Postgres
    refused: list[float] = field(default_factory=list)

    def write(self) -> None:
        status, _said = self.cluster.execute_there(self.database, "INSERT INTO witness VALUES ('cut off')")
        if status != 0:
            self.refused.append(time.monotonic())


@pytest.mark.parametrize("among_themselves", [False, True])
def test_a_primary_is_cut_off_and_its_standby_goes_on(running: Running, among_themselves: bool) -> None:
    """`among_themselves`: only its way to etcd and the standby is cut, and Jiyi still reaches it."""
    cluster, bridge = running.cluster, running.cluster.bridge
    wait_until(cluster.has_standby)
    primary, standby = cluster.find_primary()
    off = [standby.host, cluster.etcd] if among_themselves else None
    name = "parted" if among_themselves else "lost"
    people = [Person(running.url, running.token, f"{name}-{at}", streams=bool(at % 2)) for at in range(6)]
    writer = Writer(cluster, primary)
    with Crowd(people) as crowd:
        wait_until(lambda: crowd.count() >= 20)
        bridge.cut(primary.host, off=off)
        cut = time.monotonic()
        (writing := threading.Thread(target=writer.write)).start()
        wait_until(lambda: cluster.is_primary(standby))
        promoted = time.monotonic()
        said = crowd.count()
        wait_until(lambda: crowd.count() >= said + 20)
        gap = crowd.find_gap(cut)
        writing.join()
        # The former primary had stopped taking writes before the other began to.
        assert [refused < promoted for refused in writer.refused] == [True]
        bridge.mend(primary.host, off=off)
        mended = time.monotonic()
        wait_until(cluster.has_standby)
        rejoined = time.monotonic()
        said = crowd.count()
        wait_until(lambda: crowd.count() >= said + 20)
    print(
        f"{name}: fenced after {writer.refused[0] - cut:.1f} s, promoted after {promoted - cut:.1f} s,"
        f" nobody was answered for {gap:.1f} s, rejoined after {rejoined - mended:.1f} s;"
        f" {crowd.count()} messages; clients saw {[dict(person.problems) for person in people]}"
    )
    assert cluster.find_primary() == (standby, primary)
    assert "pg_rewind exit code=0" in cluster.read_log(primary)
    assert cluster.execute(standby, "SELECT count(*) FROM witness") == [(0,)]
    assert gap < TTL_SECONDS + 20, gap
    check(running, standby, people)


def test_primary_and_standby_change_places_as_an_operator_asks(running: Running) -> None:
    cluster = running.cluster
    wait_until(cluster.has_standby)
    primary, standby = cluster.find_primary()
    people = [Person(running.url, running.token, f"asked-{at}", streams=bool(at % 2)) for at in range(6)]
    with Crowd(people) as crowd:
        wait_until(lambda: crowd.count() >= 20)
        asked = time.monotonic()
        cluster.ask(primary, "switchover", "--force")
        said = crowd.count()
        wait_until(lambda: crowd.count() >= said + 20)
        gap = crowd.find_gap(asked)
        wait_until(cluster.has_standby)
    print(f"nobody was answered for {gap:.1f} s; clients saw {[dict(person.problems) for person in people]}")
    assert cluster.find_primary() == (standby, primary)
    assert "Leader" in cluster.ask(primary, "list")
    check(running, standby, people)


def check(running: Running, primary: Postgres, people: list[Person]) -> None:
    """Nothing is lost or doubled, nobody was told of an error of ours, and workers have done all that there is."""
    assert [person.find_faults() for person in people] == [[]] * len(people)
    problems = {name for person in people for name in person.problems}
    assert not {name for name in problems if name in {"status 500", "stream: internal_error"}}, problems
    wait_until(running.is_worked_off)
    assert running.cluster.execute(primary, WITHOUT_VECTOR, name="jiyi") == [(0,)]
    assert running.is_healthy()
