"""An installation behind PgBouncer with ``deploy/pgbouncer``'s settings, which is restarted while people talk."""

from __future__ import annotations

import httpx2
import pytest

from tests.support.installations import MODEL_ANSWER, Installation
from tests.support.networks import make_network
from tests.support.processes import wait_until
from tests.support.scripted_model import ScriptedModel
from tests.support.talking import Crowd, Person
from tests.support.tools import find_or_install

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


def test_people_talk_through_a_pooler_that_is_restarted() -> None:
    pgbouncer = find_or_install("pgbouncer", package="pgbouncer")
    with make_network() as network, ScriptedModel() as model:
        model.default = lambda _request: MODEL_ANSWER
        installation = Installation(network, model.base_url)
        database = installation.make_database("database", durable=False)
        database.make(other="127.0.0.1/32")
        database.execute("postgres", "ALTER ROLE jiyi SET plan_cache_mode = force_generic_plan")
        pooler, queue, host = map(network.make_host, ("pooler", "queue", "host"))
        installation.start_queue(queue)
        installation.start_pooler(pooler, pgbouncer, database)
        installation.manage(host, "migrate")
        token = installation.manage(host, "create_token", "service", "--create", "--service")
        installation.start_web(host)
        installation.start_worker(host, "worker", queues="celery,embedding,model", processes=1)
        installation.start_beat(host)
        (_host, _name, port) = installation.webs[0]
        url = f"http://{host.address}:{port}"

        def is_healthy() -> bool:
            try:
                return httpx2.get(f"{url}/healthz", headers={"Host": "localhost"}, timeout=15).status_code == 200
            except httpx2.TransportError:
                return False

        wait_until(is_healthy, seconds=240)
        people = [Person(url, token, f"person-{at}", streams=bool(at % 2)) for at in range(6)]
        with Crowd(people) as crowd:
            wait_until(lambda: crowd.count() >= 20)
            pooler.kill("pgbouncer")
            installation.start_pooler(pooler, pgbouncer, database)
            said = crowd.count()
            wait_until(lambda: crowd.count() >= said + 20)
        assert [person.find_faults() for person in people] == [[]] * len(people)
        wait_until(is_healthy)
