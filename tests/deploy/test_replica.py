"""Pages of the panel and exports read from a standby, and show all that was written before (docs/deployment.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx2
import pytest

from tests.support.installations import MODEL_ANSWER, QUOTED, Installation, Postgres
from tests.support.networks import make_network
from tests.support.processes import wait_until
from tests.support.scripted_model import ScriptedModel

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

HOST = {"Host": "localhost"}
LIST = "/admin/memories/"
PASSWORD = "a long passphrase"


@dataclass
class Site:
    """A web process with a primary and a standby; `browser` has logged in as who runs it, `client` has their token."""

    primary: Postgres
    standby: Postgres
    browser: httpx2.Client
    client: httpx2.Client

    def remember(self, key: str) -> None:
        body = {"category": "fact", "key": key, "value": "yes"}
        self.client.post("/memory/long-term", json=body).raise_for_status()

    def lists(self, key: str) -> bool:
        """Whether the panel's list of memories has it now."""
        page = self.browser.get(LIST, params={"q": key})
        assert page.status_code == 200, page.text
        return f">{key}<" in page.text

    def exports(self, key: str) -> bool:
        """Whether everything, as the person takes it along, has it now."""
        return key in self.client.get("/memory/export").raise_for_status().text

    def count(self) -> tuple[int, int]:
        """How often the standby and the primary have answered."""
        text = self.client.get("/metrics").raise_for_status().text
        found = dict(re.findall(r'^jiyi_replica_reads_total\{database="(\w+)"\} ([\d.]+)', text, re.MULTILINE))
        return int(float(found.get("replica", 0))), int(float(found.get("primary", 0)))


@contextmanager
def run_site() -> Iterator[Site]:
    with make_network(namespaces=False) as network, ScriptedModel() as model:
        model.default = lambda _request: MODEL_ANSWER
        installation = Installation(network, model.base_url)
        primary = installation.make_database("db1", durable=False)
        standby = installation.make_database("db2", durable=False)
        primary.make(other="127.0.0.1/32")
        standby.follow(primary)
        queue, host = network.make_host("queue"), network.make_host("host")
        installation.use_databases(primary, standby)
        address = f"{standby.host.address}:{standby.port}"
        installation.more = {
            "HTTPS": "false",
            "METRICS_ACCESS": "open",
            "REPLICA_DATABASE_URL": f"postgresql://jiyi:{QUOTED}@{address}/jiyi?connect_timeout=2",
        }
        installation.start_queue(queue)
        installation.manage(host, "migrate")
        make = f"User.objects.create_superuser('mei', password={PASSWORD!r})"
        installation.manage(host, "shell", "-c", f"from apps.accounts.models import User; {make}")
        token = installation.manage(host, "create_token", "mei")
        installation.start_web(host)
        ((_host, _name, port),) = installation.webs
        url = f"http://{host.address}:{port}"
        wait_until(lambda: is_ready(url))
        authorized = {**HOST, "Authorization": f"Bearer {token}"}
        with (
            httpx2.Client(base_url=url, headers=HOST, timeout=200) as browser,
            httpx2.Client(base_url=url, headers=authorized, timeout=200) as client,
        ):
            log_in(browser, url)
            yield Site(primary, standby, browser, client)


def is_ready(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/readyz", headers=HOST, timeout=5).is_success
    except httpx2.TransportError:
        return False


def log_in(browser: httpx2.Client, url: str) -> None:
    match = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', browser.get("/login").raise_for_status().text)
    assert match
    form = {"csrfmiddlewaretoken": match[1], "username": "mei", "password": PASSWORD}
    answer = browser.post("/login", data=form, headers={"Referer": f"{url}/login"})
    assert answer.status_code == 302, answer.text


def test_the_panel_reads_from_a_standby_and_shows_what_was_written_before() -> None:
    with run_site() as site:
        # It follows: what was just written is in the list, and the standby has answered.
        for number in range(30):
            site.remember(f"followed_{number}")
            assert site.lists(f"followed_{number}")
            assert site.exports(f"followed_{number}")
        by_standby, by_primary = site.count()
        assert by_standby + by_primary == 60
        assert by_standby > 30  # all, on a computer that does nothing else
        # It lags: the primary answers.
        site.standby.execute("postgres", "SELECT pg_wal_replay_pause()")
        wait_until(lambda: site.standby.execute("postgres", "SELECT pg_get_wal_replay_pause_state()") == "paused")
        site.remember("held_back")
        assert site.lists("held_back")
        assert site.exports("held_back")
        assert site.count() == (by_standby, by_primary + 2)
        # It has caught up.
        site.standby.execute("postgres", "SELECT pg_wal_replay_resume()")
        wait_until(lambda: site.lists("held_back") and site.count()[0] > by_standby)
        # It dies, and is back.
        site.primary.script("wait_for_standbys.sh")
        site.standby.host.kill("postgres")
        site.remember("alone")
        assert site.lists("alone")
        assert site.exports("alone")
        by_standby, _by_primary = site.count()
        site.standby.start()
        wait_until(lambda: site.lists("alone") and site.count()[0] > by_standby)
        # It follows nobody any more: what it has may be of a primary that others have left.
        stop = "SELECT pg_terminate_backend(pid) FROM pg_stat_replication"
        site.primary.execute("postgres", "ALTER ROLE replicator NOLOGIN", stop)
        wait_until(lambda: site.standby.execute("postgres", "SELECT count(*) FROM pg_stat_wal_receiver") == "0")
        by_standby, _by_primary = site.count()
        assert site.lists("alone")
        assert site.count()[0] == by_standby
