"""The topology of ``deploy/compose.yaml``, started by podman-compose from a copy of the files."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.clients.environments import install_python
from tests.image.bases import ROOT
from tests.image.engine import BUILD_SECONDS, Container, Engine, Say

PROJECT = "jiyi"

# Services in the order in which `depends_on` lets them start. Podman's older versions wait for no condition.
ORDER = (
    ("database", "queue"),
    ("pooler", "migrate"),
    ("web", "worker-1", "worker-2", "worker-model-1", "worker-model-2", "beat"),
    ("proxy",),
)
REPLICATED = {"web": 2}


@dataclass(frozen=True)
class Compose:
    """A started project."""

    engine: Engine
    folder: Path
    files: tuple[str, ...]
    url: str

    def run(self, *arguments: str, timeout: float = BUILD_SECONDS) -> str:
        """Run a command of podman-compose on the copied files and return what it printed."""
        interpreter = install_python("podman-compose").interpreter
        files = [part for name in self.files for part in ("--file", name)]
        command: list[str | Path] = [interpreter, "-m", "podman_compose", "--in-pod=0", *files, *arguments]
        return self.engine.run_program(*command, cwd=self.folder, timeout=timeout)

    def container(self, service: str, number: int = 1) -> Container:
        return Container(self.engine, f"{PROJECT}_{service}_{number}")

    def containers(self) -> list[Container]:
        """All containers that run now."""
        names = self.engine.run("ps", "--format={{.Names}}", f"--filter=label=io.podman.compose.project={PROJECT}")
        return [Container(self.engine, name) for name in sorted(names.split())]

    def up(self, *services: str) -> None:
        """Start services, and wait as those that depend on them would."""
        self.run("up", "--detach", "--no-build", "--no-deps", *services)
        for name in services:
            for number in range(1, REPLICATED.get(name, 1) + 1):
                container = self.container(name, number)
                if name == "migrate":
                    assert self.engine.run("wait", container.name, timeout=BUILD_SECONDS) == "0", container.read_log()
                elif self._checks_health(container):
                    container.wait_healthy()

    def stop(self) -> None:
        """Stop everything as `docker compose stop` does, those first on which nothing depends."""
        for group in reversed(ORDER):
            self.run("stop", *group)

    def keep_logs(self, folder: Path) -> None:
        """Write what each container printed to a file of its name, to be read after a failure."""
        folder.mkdir(exist_ok=True)
        for container in self.containers():
            (folder / f"{container.name}.log").write_text(container.read_log())

    def manage(self, *arguments: str) -> str:
        """Run a command of ``manage.py`` in a web container, as the documentation says."""
        return self.run("exec", "-T", "web", "python", "manage.py", *arguments)

    def _checks_health(self, container: Container) -> bool:
        check = self.engine.inspect(container.name)["Config"].get("Healthcheck") or {}
        return (check.get("Test") or ["NONE"])[0] != "NONE"


@contextmanager
def run_compose(engine: Engine, folder: Path, port: int, *, say: Say, **variables: str) -> Iterator[Compose]:
    """Start everything of compose.yaml behind PgBouncer, with a proxy at a port of loopback; gone after the block."""
    shutil.copytree(ROOT / "deploy", folder)
    given = {"SECRET_KEY": "s" * 64, "POSTGRES_PASSWORD": "p" * 16, "VALKEY_PASSWORD": "v" * 16}
    given |= {"LISTEN": f"127.0.0.1:{port}", "ALLOWED_HOSTS": "127.0.0.1,memory.example.org", **variables}
    (folder / ".env").write_text(_fill_in((folder / "env.example").read_text(), given))
    compose = Compose(engine, folder, ("compose.yaml", "compose.pgbouncer.yaml"), f"http://127.0.0.1:{port}")
    names = {name for file in compose.files for name in yaml.safe_load((folder / file).read_text())["services"]}
    assert names == {name for group in ORDER for name in group}
    say("building the pooler, as compose does")
    compose.run("build", "pooler")
    try:
        for group in ORDER:
            say(f"starting {', '.join(group)}")
            compose.up(*group)
        yield compose
    finally:
        compose.keep_logs(engine.folder / "logs")
        compose.run("down", "--volumes")


def _fill_in(example: str, given: dict[str, str]) -> str:
    """``env.example`` with these variables set instead of empty, commented out, or absent."""
    kept = [line for line in example.splitlines() if line.lstrip("#").partition("=")[0] not in given]
    return "\n".join([*kept, *(f"{name}={value}" for name, value in given.items())]) + "\n"
