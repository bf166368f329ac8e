"""Two PostgreSQL hosts that Patroni looks after, with ``deploy/patroni``'s settings, and an etcd."""

from __future__ import annotations

import contextlib
import os
import re
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import psycopg

from tests.support.installations import DEPLOY, PASSWORD, Postgres, find_free_port, is_listening
from tests.support.namespaces import Bridge
from tests.support.networks import Host
from tests.support.processes import wait_until

SETTINGS = DEPLOY / "patroni" / "patroni.yml"
REST_PORT = 8008
# As patroni.yml has it: until then a standby may not take the place of a primary that was heard of.
TTL_SECONDS = 20


@dataclass
class Cluster:
    """Hosts ``db1`` and ``db2`` with Patroni, and ``etcd``."""

    bridge: Bridge
    patroni: str
    etcd: Host
    databases: list[Postgres] = field(default_factory=list)

    def start(self, etcd: str) -> None:
        """Start etcd and the first host, which makes the cluster and a database for Jiyi; then the second."""
        url = f"http://{self.etcd.address}:2379"
        command = [etcd, "--name", "etcd", "--data-dir", str(self.etcd.folder / "data"), "--listen-client-urls", url]
        command += ["--advertise-client-urls", url, "--listen-peer-urls", "http://127.0.0.1:2380"]
        self.etcd.start("etcd", command, environment={})
        wait_until(lambda: is_listening(self.etcd.address, 2379))
        for name in ("db1", "db2"):
            host = self.bridge.make_host(name, user="nobody")  # initdb wants an account with a name
            # Sockets of all hosts are in one folder, so their ports have to differ.
            database = Postgres(host, find_free_port("127.0.0.1"))
            self.databases.append(database)
            self._start_patroni(database)
            if name == "db1":
                wait_until(lambda: self.find_roles().get("db1") == "leader")
                self.execute(database, f"CREATE ROLE jiyi LOGIN PASSWORD '{PASSWORD}'")
                self.execute(database, "CREATE DATABASE jiyi OWNER jiyi")
                self.execute(database, "CREATE EXTENSION vector", name="jiyi")
        wait_until(self.has_standby)

    def close(self) -> None:
        """End Patroni and PostgreSQL, which is no child of Patroni's and would go on without it."""
        for database in self.databases:
            if "patroni" in database.host.processes:
                database.host.kill("patroni")
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                server = int((database.data / "postmaster.pid").read_text().split()[0])
                os.kill(server, signal.SIGQUIT)
                wait_until(lambda server=server: not Path(f"/proc/{server}").exists())

    def _start_patroni(self, database: Postgres) -> None:
        command: list[str | Path] = [self.patroni, SETTINGS]
        database.host.start("patroni", command, environment=self._make_environment(database))

    def ask(self, database: Postgres, *arguments: str) -> str:
        """Run patronictl on a host; return what it printed."""
        command = [Path(self.patroni).with_name("patronictl"), "--config-file", SETTINGS, *arguments]
        status, said = database.host.run(command, environment=self._make_environment(database))
        assert status == 0, said
        return said

    def _make_environment(self, database: Postgres) -> dict[str, str]:
        """What ``patroni.env.example`` has."""
        host = database.host
        postgres, rest = f"{host.address}:{database.port}", f"{host.address}:{REST_PORT}"
        settings = {
            "NAME": host.name,
            "POSTGRESQL_LISTEN": postgres,
            "POSTGRESQL_CONNECT_ADDRESS": postgres,
            "RESTAPI_LISTEN": rest,
            "RESTAPI_CONNECT_ADDRESS": rest,
            "ETCD3_HOSTS": f"{self.etcd.address}:2379",
            "POSTGRESQL_DATA_DIR": str(database.data),
            "POSTGRESQL_BIN_DIR": str(database.programs),
            "POSTGRESQL_PGPASS": str(host.folder / "pgpass"),
            "RESTAPI_USERNAME": "patroni",
            **{f"{role}_PASSWORD": PASSWORD for role in ("RESTAPI", "SUPERUSER", "REPLICATION", "REWIND")},
        }
        example = (SETTINGS.parent / "patroni.env.example").read_text()
        assert set(re.findall(r"^PATRONI_(\w+)=", example, re.MULTILINE)) == set(settings)
        return {f"PATRONI_{name}": value for name, value in settings.items()}

    def find_roles(self) -> dict[str, str]:
        """What Patroni says that each host is: ``leader``, ``sync_standby``, ``replica``; nothing if nobody answers."""
        for database in self.databases:
            try:
                answer = httpx2.get(f"http://{database.host.address}:{REST_PORT}/cluster", timeout=2)
            except httpx2.TransportError:
                continue
            running = ("running", "streaming")
            return {one["name"]: one["role"] for one in answer.json()["members"] if one["state"] in running}
        return {}

    def has_standby(self) -> bool:
        """Whether commits wait for a standby."""
        return sorted(self.find_roles().values()) == ["leader", "sync_standby"]

    def find_primary(self) -> tuple[Postgres, Postgres]:
        """The primary and the other one."""
        roles = self.find_roles()
        first, second = sorted(self.databases, key=lambda one: roles[one.host.name] != "leader")
        return first, second

    def is_primary(self, database: Postgres) -> bool:
        """Whether a host takes writes; false if it does not answer us."""
        try:
            return self.execute(database, "SELECT NOT pg_is_in_recovery()") == [(True,)]
        except psycopg.OperationalError:
            return False

    def execute(self, database: Postgres, statement: str, *, name: str = "postgres") -> list[tuple[Any, ...]]:
        """The rows of a statement that the superuser asks a host."""
        server = f"postgresql://postgres:{quote(PASSWORD, safe='')}@{database.host.address}:{database.port}/{name}"
        with psycopg.connect(server, autocommit=True, connect_timeout=2) as connection:
            cursor = connection.execute(statement)  # type: ignore[call-overload]
            return cursor.fetchall() if cursor.description else []

    def execute_there(self, database: Postgres, statement: str) -> tuple[int, str]:
        """Run a statement on a host itself, whether or not it has a network; return the status and what psql said."""
        command = [str(database.programs / "psql"), "--no-psqlrc", "-qtA", "--command", statement]
        environment = {"PGHOST": database.host.address, "PGPORT": str(database.port), "PGUSER": "postgres"}
        environment |= {"PGPASSWORD": PASSWORD, "PATH": os.environ["PATH"]}
        return database.host.run(command, environment=environment)

    def read_log(self, database: Postgres) -> str:
        """All that Patroni and PostgreSQL of a host have printed."""
        return (database.host.folder / "patroni.log").read_text(errors="replace")
