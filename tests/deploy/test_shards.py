"""People on several servers behind a real nginx, who talk while they are moved from one to another (docs/shards.md)."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from apps.shards.rows import read_tables
from benchmarks.running import run_scripted_model
from tests.support.installations import MODEL_ANSWER, QUOTED, Installation, Postgres
from tests.support.networks import Host, make_network
from tests.support.processes import wait_until
from tests.support.talking import Crowd, Person
from tests.support.tools import find_or_install

NAMES = ("", "b", "c")
PEOPLE = 2
HOST = {"Host": "memory.example.org"}
PASSWORD = "correct horse 电池"


@dataclass
class Site:
    """The directory ("") and its shards, each an installation on a host with a database of its own."""

    installations: dict[str, Installation] = field(default_factory=dict)
    hosts: dict[str, Host] = field(default_factory=dict)
    databases: dict[str, Postgres] = field(default_factory=dict)
    url: str = ""
    token: str = ""

    def manage(self, *arguments: str) -> str:
        """Run a command at the directory."""
        return self.installations[""].manage(self.hosts[""], *arguments)

    def query(self, name: str, statement: str) -> list[str]:
        """The rows of a statement on a server."""
        return self.databases[name].execute("jiyi", statement).splitlines()

    def count_rows(self, user_id: str) -> dict[str, int]:
        """How many rows each server has of a person."""
        counts = " + ".join(f"(SELECT count(*) FROM {table.name} WHERE user_id = {user_id})" for table in read_tables())
        return {name: int(self.query(name, f"SELECT {counts}")[0]) for name in NAMES}

    def wait_until_worked_off(self) -> None:
        def done() -> bool:
            due = "SELECT count(*) FROM work WHERE kind <> 'summarize' AND state = 'due'"
            return all(self.query(name, due) == ["0"] for name in NAMES)

        wait_until(done)


@contextmanager
def run_site(nginx: str, reply: Path) -> Iterator[Site]:
    reply.write_text(MODEL_ANSWER)
    with ExitStack() as stack:
        network = stack.enter_context(make_network(namespaces=False))  # tests reach loopback only
        model = stack.enter_context(run_scripted_model(host="127.0.0.1", reply_file=reply))
        site, queue = Site(), network.make_host("queue")
        for number, name in enumerate(NAMES):
            installation = site.installations[name] = Installation(network, model, more={"HTTPS": "false"})
            database = site.databases[name] = installation.make_database(f"db{name}", durable=False)
            database.make(other="0.0.0.0/0")
            address = f"{database.host.address}:{database.port}"
            installation.database_url = f"postgresql://jiyi:{QUOTED}@{address}/jiyi"
            site.hosts[name] = network.make_host(f"host{name}")
            if not number:
                installation.start_queue(queue)
            installation.redis_url = site.installations[""].redis_url.removesuffix("/0") + f"/{number}"
        directory = site.installations[""]
        shards = {name: site.installations[name] for name in NAMES if name}
        for name, shard in shards.items():
            shard.more |= {"SHARD": name, "DIRECTORY_DATABASE_URL": directory.database_url}
            start(site, name)
        urls = {name: "http://{}:{}".format(*shard.web_addresses[0]) for name, shard in shards.items()}
        described = {name: {"database": shard.database_url, "url": urls[name]} for name, shard in shards.items()}
        directory.more |= {"SHARDS": json.dumps(described), "SHARDS_FOR_NEW_PEOPLE": "b"}
        start(site, "")
        site.token = site.manage("create_token", "service", "--create", "--service")
        site.url = directory.start_proxy(network.make_host("proxy"), nginx, shards=shards)
        wait_until(lambda: is_ready(site.url))
        for url in urls.values():
            wait_until(lambda url=url: is_ready(url))  # type: ignore[misc]
        yield site


def start(site: Site, name: str) -> None:
    """Migrate a server, and start its web process, a worker and beat."""
    installation, host = site.installations[name], site.hosts[name]
    installation.manage(host, "migrate")
    installation.start_web(host)
    installation.start_worker(host, "worker", queues="celery,embedding,model", processes=1)
    installation.start_beat(host)


def is_ready(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/readyz", headers={"Host": "localhost"}, timeout=5).is_success
    except httpx2.TransportError:
        return False


def wait_for_turns(crowd: Crowd, number: int) -> None:
    wanted = crowd.count() + number
    wait_until(lambda: crowd.count() >= wanted or any(person.error for person in crowd.people))


def kill_mover(site: Site, target: str, moves: int) -> str:
    """Have everybody moved, kill whoever does it after so many, and end what they left; returns what is told of it."""
    host = site.hosts[""]
    command = [sys.executable, "manage.py", "move_person", "--all-of", "service", "--to", target, "--settle", "0.2"]
    decided = len(site.query("", "SELECT id FROM person_move"))
    host.start("mover", command, environment=site.installations[""].environment(host))
    process = host.processes["mover"]
    wait_until(lambda: is_moving(site, decided + moves) or process.poll() is not None, seconds=180)
    host.kill("mover")
    return site.manage("shards")


def is_moving(site: Site, moves: int) -> bool:
    """Whether so many moves have been decided, and somebody is being carried or their move is being ended."""
    if len(site.query("", "SELECT id FROM person_move")) < moves:
        return False
    return any(site.query(name, "SELECT gid FROM pg_prepared_xacts") for name in ("b", "c")) or bool(
        site.query("", "SELECT id FROM accounts_user WHERE moving_until IS NOT NULL")
    )


def log_in(site: Site, name: str) -> httpx2.Client:
    """A browser in which somebody has logged in."""
    browser = httpx2.Client(base_url=site.url, headers=HOST, timeout=200, follow_redirects=False)
    page = browser.get("/login").raise_for_status().text
    match = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    assert match
    form = {"csrfmiddlewaretoken": match[1], "username": name, "password": PASSWORD}
    answer = browser.post("/login", data=form, headers={"Referer": "http://memory.example.org/login"})
    assert answer.status_code == 302, answer.text
    return browser


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_people_talk_while_they_are_moved_and_nothing_is_lost(tmp_path: Path) -> None:
    nginx = find_or_install("nginx", package="nginx-light")
    with run_site(nginx, tmp_path / "reply.json") as site:
        people = [Person(site.url, site.token, f"person-{at}", streams=bool(at % 2), pause=1.0) for at in range(PEOPLE)]
        problems: Counter[str] = Counter()
        with Crowd(people) as crowd:
            wait_for_turns(crowd, 2 * PEOPLE)
            assert site.query("b", "SELECT count(DISTINCT user_id) FROM conversation") == [str(PEOPLE)]
            for target in ("c", "directory"):
                told = site.manage("move_person", "--all-of", "service", "--to", target)
                assert len(told.splitlines()) == PEOPLE
                wait_for_turns(crowd, PEOPLE)
            for target, moves in (("b", 0), ("c", 1)):
                assert "elsewhere" not in kill_mover(site, target, moves)
                wait_for_turns(crowd, PEOPLE)
        site.wait_until_worked_off()
        faults = [fault for person in people for fault in person.find_faults()]
        assert faults == []
        for person in people:
            problems += person.problems
        said = sum(len(person.answered) for person in people)
        stored = [site.query(name, "SELECT content FROM conversation WHERE role = 'user'") for name in NAMES]
        assert Counter(text for texts in stored for text in texts) == Counter(
            one.content for person in people for one in person.answered
        )
        print(f"{said} messages answered; clients saw {dict(problems)}")
        erase_one(site, people[0])
        erase_from_the_directory(site, people[1])
        follow_a_browser(site)


def erase_one(site: Site, person: Person) -> None:
    """Erasure and its receipt are of one server, and nothing is left on any."""
    (user_id,) = site.query("", f"SELECT id FROM accounts_user WHERE external_id = '{person.name}'")
    before = site.count_rows(user_id)
    assert sum(count > 0 for count in before.values()) == 1
    (place,) = (name for name, count in before.items() if count)
    headers = {"Authorization": f"Bearer {site.token}", "X-End-User": person.name, **HOST}
    body = {"confirm": person.name}
    receipt = httpx2.post(f"{site.url}/memory/erase", json=body, headers=headers, timeout=200).raise_for_status().json()
    assert receipt["verified"]
    assert sum(receipt["deleted"].values()) == before[place]
    assert site.count_rows(user_id) == dict.fromkeys(NAMES, 0)
    assert {name: site.query(name, "SELECT count(*) FROM erasure_record") for name in NAMES} == {
        name: ["1"] if name == place else ["0"] for name in NAMES
    }
    person.session, person.answered = "", []
    person.talk(threading.Event(), messages=1)
    assert person.error is None


def erase_from_the_directory(site: Site, person: Person) -> None:
    (user_id, name) = site.query(
        "", f"SELECT id || ' ' || username FROM accounts_user WHERE external_id = '{person.name}'"
    )[0].split()
    assert sum(site.count_rows(user_id).values()) > 0
    assert "Verified: no data is left." in site.manage("erase_user", name, "--yes")
    assert site.count_rows(user_id) == dict.fromkeys(NAMES, 0)


def follow_a_browser(site: Site) -> None:
    """A browser stays logged in while its person is moved; its account stays at the directory."""
    make = f"from apps.accounts.models import User; User.objects.create_user('mei', password={PASSWORD!r})"
    site.manage("shell", "--command", make)
    with closing(log_in(site, "mei")) as browser:
        csrf = {"X-CSRFToken": browser.cookies["csrftoken"], "Referer": "http://memory.example.org/"}
        session = browser.post("/chat/sessions", json={}, headers=csrf).raise_for_status().json()["id"]
        for target in ("b", "c", "directory"):
            site.manage("move_person", "mei", "--to", target)
            page = browser.get("/")
            assert (page.status_code, "mei" in page.text) == (200, True)
            path = f"/chat/sessions/{session}/messages"
            browser.post(path, json={"content": f"Now at {target}"}, headers=csrf).raise_for_status()
            said: list[dict[str, Any]] = browser.get(path).raise_for_status().json()["results"]
            assert [message["content"] for message in said if message["role"] == "user"][-1] == f"Now at {target}"
            assert browser.get("/admin/memories/").status_code == 200
            assert browser.get("/admin/security/").status_code == 200
        assert len(said) == 6
        assert browser.post("/chat/sessions", json={}).status_code == 403  # without the CSRF token
