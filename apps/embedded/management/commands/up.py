"""``manage.py up``: everything in one command, on one machine; what ``make run`` starts."""

from __future__ import annotations

import errno
import os
import signal
import socket
import sys
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import Tags
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DEFAULT_DB_ALIAS
from django.urls import get_resolver

from apps.core.db import disconnect
from apps.core.management.commands.compilemessages import compile_catalogs
from apps.core.preload import preload
from apps.embedded.layout import DataLayout, InstallationInUse, hold_installation
from apps.embedded.servers import ServersUnavailable, get_missing_servers, hold_servers, revive_servers
from apps.embedded.supervisor import Program, Supervisor

# How far everything steps back that no reply waits for.
_NICE = 10

# All programs run in copies of this process, which share its memory. On macOS a copy of what has loaded the system's
# libraries may crash, so there each loads everything anew.
_FORKS = sys.platform == "linux"

# What open requests (streams, above all) get to finish.
_GRACEFUL_SECONDS = 5


class Command(BaseCommand):
    help = "Start the servers (unless configured), migrate, and start web, workers and beat. Ctrl-C stops everything."
    requires_system_checks = ["environment"]  # all of them would take a second

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default=os.environ.get("HOST") or "127.0.0.1", help="HOST (default: 127.0.0.1)")
        parser.add_argument("--port", default=os.environ.get("PORT") or "8000", help="PORT (default: 8000)")

    def handle(self, *args: Any, **options: Any) -> None:
        # TERM while still starting ends like Ctrl-C: through every `finally`.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        layout = DataLayout.at(settings.DATA_DIR)
        try:
            with (
                hold_installation(layout),
                _listen(options["host"], options["port"]) as listener,
                hold_servers(layout.root, names=get_missing_servers()),
                revive_servers(layout.root, names=get_missing_servers()),
            ):
                call_command("migrate", interactive=False, verbosity=1 if options["verbosity"] > 1 else 0)
                compile_catalogs(settings.LOCALE_PATHS)
                call_command("ensure_first_account", stdout=self.stdout)
                self.check(tags=[Tags.database], databases=[DEFAULT_DB_ALIAS])  # tells of a changed embedding model
                disconnect()  # from here on only the programs need the database
                if _FORKS:
                    get_resolver().url_patterns  # noqa: B018 (reading them imports every view)
                    preload()
                self.stdout.write(f"Data is kept in {layout.root}")
                self.stdout.write(f"Jiyi is running at {_format_address(listener)}   (press Ctrl-C to stop)")
                self.stdout.flush()
                env = {**os.environ, "JIYI_DATA_DIR": str(layout.root), "PYTHONUNBUFFERED": "1"}
                Supervisor(_get_programs(listener), cwd=settings.BASE_DIR, env=env, output=sys.stdout).run()
        except (ServersUnavailable, InstallationInUse) as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            pass  # while starting; once the supervisor runs, it deals with it
        self.stdout.write("Stopped.")


def _get_programs(listener: socket.socket) -> list[Program]:
    celery = [sys.executable, "-m", "celery", "--quiet", "--app", "project"]
    return [
        Program(
            name="web",
            # No access log: query strings hold what people search for, and logs hold no text (R3). No proxy headers:
            # uvicorn would believe whatever anybody on this machine says of their address (`TRUSTED_PROXIES`).
            command=[
                *(sys.executable, "-m", "uvicorn", "project.asgi:application", "--no-access-log", "--no-proxy-headers"),
                *("--http", "apps.core.http_protocol:Protocol", "--log-level", settings.LOG_LEVEL.lower()),
                *("--fd", str(listener.fileno()), "--timeout-graceful-shutdown", str(_GRACEFUL_SECONDS)),
            ],
            pass_fds=[listener.fileno()],
            shares_memory=_FORKS,
        ),
        _make_worker(celery, name="worker", queues="celery,embedding", processes=1),
        _make_worker(celery, name="worker-model", queues="model", processes=settings.MODEL_WORKERS),
        Program(
            name="beat",
            command=[*celery, "beat", "--loglevel", settings.LOG_LEVEL, "--pidfile", ""],
            nice=_NICE,
            shares_memory=_FORKS,
        ),
    ]


def _make_worker(celery: Sequence[str], *, name: str, queues: str, processes: int) -> Program:
    """A worker of its own for some queues, so that what waits for a slow model holds nothing else up."""
    return Program(
        name=name,
        command=[
            *(*celery, "worker", "--hostname", f"{name}@%h", "--queues", queues, "--concurrency", str(processes)),
            *("--loglevel", settings.LOG_LEVEL, "--without-gossip", "--without-mingle", "--without-heartbeat"),
        ],
        # Finish what runs; what takes too long goes back to the queue.
        stop_signals=(signal.SIGTERM, signal.SIGQUIT),
        # While it waits for a broker that has gone too, it heeds no gentler one.
        death_signal=signal.SIGKILL,
        nice=_NICE,
        shares_memory=_FORKS,
    )


def _listen(host: str, port: str) -> socket.socket:
    """The listening socket, made before anything is started and handed to the web process.

    So nobody else can take the port, and requests wait instead of failing while that process is restarted.
    """
    if not (port.isascii() and port.isdecimal() and int(port) <= 65535):
        raise CommandError(f"PORT must be a number from 0 to 65535, not {port!r}.")
    try:
        family, *_, address = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)[0]
        listener = socket.create_server(address[:2], family=family, backlog=2048)
        # Handed over by number, it looks to uvicorn like a unix socket, and asyncio leaves Nagle's delay on: 40 ms.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise CommandError(f"Port {port} of {host} is in use. Choose another: PORT=8001") from error
        raise CommandError(f"Cannot listen on {host}:{port}: {error}") from error


def _format_address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - for show
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"
