"""Citus, beyond one machine: an installation in a schema of its own, which moves between nodes while people talk.

`CITUS_URL` is a database as its superuser reaches it, with Citus, pgvector and two nodes besides the coordinator
(docs/deployment.md). Every run leaves it as it was.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx2
import psycopg
import pytest

from tests.support.installations import MODEL_ANSWER, Installation
from tests.support.networks import Host, make_network
from tests.support.processes import wait_until
from tests.support.scripted_model import RecordedRequest, ScriptedModel
from tests.support.talking import Crowd, Person

CITUS_URL = os.environ.get("CITUS_URL", "")

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not CITUS_URL, reason="CITUS_URL names no Citus: docs/deployment.md says how to get one"),
]

SAID, KNOWN = "My sister Rosalind keeps bees in Whitby.", "The user's sister Rosalind keeps bees in Whitby."
LEARNED = json.loads(MODEL_ANSWER) | {
    "memories": [{"content": KNOWN, "tags": ["family"], "about": 1, "confidence": 0.9}]
}


def ask(statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """The rows of a statement that the superuser asks the coordinator."""
    with psycopg.connect(CITUS_URL, autocommit=True) as connection:
        cursor = connection.execute(statement, parameters)  # type: ignore[arg-type]
        return cursor.fetchall() if cursor.description else []


def find_nodes(schema: str) -> set[tuple[str, int]]:
    """The nodes on which there are tables of the schema."""
    placed = "SELECT DISTINCT nodename, nodeport FROM citus_shards WHERE table_name::text LIKE %s"
    return set(ask(placed, f"{schema}.%"))


@dataclass
class Running:
    """A running installation on Citus, and a token that speaks for any end user."""

    installation: Installation
    model: ScriptedModel
    host: Host
    schema: str
    url: str
    token: str
    told: tuple[str, str, str]
    """What ``manage.py distribute`` said: in a dry run, then at first, then again."""

    def client(self, name: str) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {self.token}", "X-End-User": name, "Host": "memory.example.org"}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=60)

    def count(self, table: str, username: str) -> int:
        """How many rows of a table are a person's."""
        owner = f"SELECT id FROM {self.schema}.accounts_user WHERE username = %s"
        ((rows,),) = ask(f"SELECT count(*) FROM {self.schema}.{table} WHERE user_id = ({owner})", username)
        return int(rows)


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    schema = f"jiyi_{secrets.token_hex(4)}"
    ask(f"CREATE SCHEMA {schema}")
    try:
        with make_network() as network, ScriptedModel() as model:
            model.default = lambda _request: MODEL_ANSWER
            installation = Installation(network, model.base_url)
            installation.database_url = f"{CITUS_URL}?options=-c%20search_path%3D{schema}%2Cpublic"
            installation.more["DATABASE_PREPARED"] = "false"
            queue, host = network.make_host("queue"), network.make_host("host")
            installation.start_queue(queue)
            with pytest.raises(RuntimeError, match=r"migrate first"):
                installation.manage(host, "distribute")
            installation.manage(host, "migrate")
            dry, first, again = (installation.manage(host, "distribute", *more) for more in (["--dry-run"], [], []))
            token = installation.manage(host, "create_token", "service", "--create", "--service")
            installation.start_web(host)
            installation.start_worker(host, "worker", queues="celery,embedding,model", processes=1)
            installation.start_beat(host)
            (_host, _name, port) = installation.webs[0]
            url = f"http://{host.address}:{port}"

            def is_healthy() -> bool:
                try:
                    return httpx2.get(f"{url}/healthz", headers={"Host": "localhost"}, timeout=15).is_success
                except httpx2.TransportError:
                    return False

            try:
                wait_until(is_healthy, seconds=240)
            except AssertionError:
                pytest.fail("\n".join(host.read_log(name) for name in host.processes))
            yield Running(installation, model, host, schema, url, token, (dry, first, again))
    finally:
        ask(f"DROP SCHEMA {schema} CASCADE")


def test_every_table_is_on_one_node_and_the_command_says_so_again(running: Running) -> None:
    dry, first, again = running.told
    ((tables,),) = ask("SELECT count(*) FROM pg_tables WHERE schemaname = %s", running.schema)
    assert len(dry.splitlines()) == tables > 50
    assert first.splitlines()[-1] == again
    assert f"{running.schema} is distributed: {tables} tables" in again
    assert len(find_nodes(running.schema)) == 1


def test_a_turn_is_learned_from_found_again_and_erased(running: Running) -> None:
    def learn(request: RecordedRequest) -> str:
        return json.dumps(LEARNED) if SAID in json.dumps(request.body) else MODEL_ANSWER

    running.model.default = learn
    with running.client("mei") as client:
        session = client.post("/chat/sessions", json={}).raise_for_status().json()["id"]
        said = client.post(f"/chat/sessions/{session}/messages", json={"content": SAID}).raise_for_status().json()
        wait_until(lambda: client.get("/memory/atomic").json()["count"] == 1, seconds=100)
        asked = f"/chat/sessions/{session}/messages"
        turn = client.post(asked, json={"content": "Who keeps bees?"}).raise_for_status().json()
        assert [used["text"] for used in turn["memories_used"]][:1] == [
            "The user's sister Rosalind keeps bees in Whitby."
        ]

        def is_found(mode: str) -> bool:
            given = {"q": "Rosalind bees", "mode": mode}
            found = client.get("/chat/search", params=given).raise_for_status().json()["results"]
            return any(hit["id"] == said["user_message"]["id"] for one in found for hit in one["messages"])

        wait_until(lambda: is_found("words") and is_found("meaning"), seconds=100)
        username = client.get("/memory/export").raise_for_status().json()["user"]["username"]
        assert [running.count(table, username) for table in ("conversation", "atomic_memory")] == [4, 1]
        receipt = client.post("/memory/erase", json={"confirm": username}).raise_for_status().json()
        assert receipt["verified"] is True
        assert [running.count(table, username) for table in ("conversation", "atomic_memory")] == [0, 0]
    running.model.default = lambda _request: MODEL_ANSWER


def test_nothing_is_lost_while_the_schema_moves_to_another_node_and_back(running: Running) -> None:
    (first,) = find_nodes(running.schema)
    nodes = ask("SELECT nodename, nodeport FROM pg_dist_node WHERE noderole = 'primary' AND groupid <> 0")
    second = next(node for node in nodes if node != first)
    people = [Person(running.url, running.token, f"person-{at}", streams=bool(at % 2)) for at in range(6)]
    with Crowd(people) as crowd:
        for node in (second, first):
            said = crowd.count()
            wait_until(lambda said=said: crowd.count() >= said + 20)
            ask("SELECT citus_schema_move(%s, %s, %s)", running.schema, *node)
            assert find_nodes(running.schema) == {node}
        said = crowd.count()
        wait_until(lambda: crowd.count() >= said + 20)
    assert [person.find_faults() for person in people] == [[]] * len(people)
    problems = {name for person in people for name in person.problems}
    assert not {name for name in problems if name in {"status 500", "stream: internal_error"}}, problems
