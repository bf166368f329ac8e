"""Podman with images, volumes, networks and settings of its own: nothing of the machine's is used or touched."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.processes import wait_until

RUN_SECONDS = 300
BUILD_SECONDS = 1800

# The programs without which nothing can be tried, and the packages of Debian that have them and what they use.
NEEDED = ("podman", "mmdebstrap", "runc", "catatonit", "iptables")
PACKAGES = ("podman", "runc", "catatonit", "netavark", "aardvark-dns", "iptables", "mmdebstrap")

_CAP_SYS_RESOURCE = 1 << 24
_REPEATED_LINES = 60

Say = Callable[[str], None]

# Runs in a container: the memory of all its processes, what they share counted once.
_PSS = """
import os, re
total = 0
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        text = open(f"/proc/{pid}/smaps_rollup").read()
    except OSError:
        continue
    total += int(re.search(r"^Pss: +(\\d+)", text, re.M)[1]) * 1024 if int(pid) != os.getpid() else 0
print(total)
"""


class EngineError(RuntimeError):
    """What Podman said when a command of it failed."""


class Engine:
    """The `podman` of one folder, which keeps its images between runs."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.environment = {
            **os.environ,
            "CONTAINERS_CONF": str(_write_settings(folder)),
            "CONTAINERS_STORAGE_CONF": str(_write_storage(folder)),
            "BUILDAH_FORMAT": "docker",  # OCI's has no health checks; for builds that podman-compose starts
        }
        self._mounts = list_mounts(folder)

    def run(self, *arguments: str | Path, timeout: float = RUN_SECONDS) -> str:
        """Run a command of Podman and return what it printed; EngineError if it fails."""
        return self.run_program("podman", *arguments, timeout=timeout)

    def run_program(self, *command: str | Path, cwd: Path | None = None, timeout: float = RUN_SECONDS) -> str:
        """Run a program that uses this Podman and return what it printed; EngineError if it fails."""
        done = subprocess.run(
            command,
            cwd=cwd,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=timeout,
        )
        if done.returncode:
            raise EngineError(f"{' '.join(map(str, command))} ({done.returncode})\n{done.stdout}{done.stderr}".strip())
        return done.stdout.strip()

    def inspect(self, name: str, *, kind: str = "container") -> dict[str, Any]:
        """What Podman knows of a container, or of an image or a network."""
        (found,) = json.loads(self.run("inspect", f"--type={kind}", name))
        return dict(found)

    def has_image(self, name: str) -> bool:
        return bool(self.run("images", "--quiet", "--filter", f"reference={name}"))

    def build(
        self,
        tag: str,
        *,
        file: Path,
        context: Path,
        arguments: Mapping[str, str] | None = None,
        target: str = "",
        say: Say = lambda line: None,
    ) -> None:
        """Build an image in Docker's format, telling each step; EngineError with its last lines if that fails."""
        command = ["nice", "podman", "build", f"--tag={tag}", f"--file={file}", *self._mounts]
        command += [f"--build-arg={name}={value}" for name, value in (arguments or {}).items()]
        command += [f"--target={target}"] if target else []
        last: deque[str] = deque(maxlen=_REPEATED_LINES)
        with subprocess.Popen(
            [*command, str(context)],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                last.append(line)
                if "STEP " in line:
                    say(line.strip()[:110])
            if process.wait(BUILD_SECONDS):
                raise EngineError(f"{' '.join(command)}\n{''.join(last)}")

    @contextmanager
    def start(self, image: str, *command: str, name: str, options: tuple[str, ...] = ()) -> Iterator[Container]:
        """Start a container in the background; it is gone, with volumes that have no name, after the block."""
        self.run("run", "--detach", f"--name={name}", *options, image, *command)
        try:
            yield Container(self, name)
        finally:
            self.run("rm", "--force", "--time=0", "--volumes", "--ignore", name)

    def close(self) -> None:
        """Remove containers, volumes, networks, and images that a newer build has replaced."""
        self.run("rm", "--all", "--force", "--time=0", "--volumes")
        self.run("volume", "prune", "--force")
        self.run("network", "prune", "--force")
        self.run("image", "prune", "--force")


@dataclass(frozen=True)
class Container:
    """A container of an engine, by its name."""

    engine: Engine
    name: str

    @property
    def state(self) -> dict[str, Any]:
        return dict(self.engine.inspect(self.name)["State"])

    def exec(self, *command: str, timeout: float = RUN_SECONDS) -> str:
        """Run a command in it and return what it printed; EngineError if it fails."""
        return self.engine.run("exec", self.name, *command, timeout=timeout)

    def read_log(self) -> str:
        """All that it printed, on both channels."""
        done = subprocess.run(
            ["podman", "logs", self.name],
            env=self.engine.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        return done.stdout

    def is_healthy(self) -> bool:
        """Run its health check now. By themselves they run only where systemd does."""
        try:
            self.engine.run("healthcheck", "run", self.name)
        except EngineError:
            return False
        return True

    def wait_healthy(self, *, seconds: float = 600) -> None:
        """Return once its health check passes; fail with its log if it ends before."""

        def is_decided() -> bool:
            return self.is_healthy() or self.state["Status"] != "running"

        wait_until(is_decided, seconds=seconds)
        assert self.state["Status"] == "running", self.read_log()

    def stop(self) -> int:
        """Stop it as `docker stop` does, with TERM and then its grace, and return its exit status."""
        self.engine.run("stop", self.name)
        return int(self.state["ExitCode"])

    def measure_memory(self) -> int:
        """Bytes of memory that its processes take; what they share counts once."""
        return int(self.exec("python", "-c", _PSS))

    def read_peak(self) -> int | None:
        """The most memory that its control group ever took, the cache of its files included; None where unknown."""
        for name in ("memory.peak", "memory/memory.max_usage_in_bytes"):
            try:
                return int(self.exec("cat", f"/sys/fs/cgroup/{name}"))
            except EngineError:
                continue
        return None


def _write_settings(folder: Path) -> Path:
    """Podman's settings: its own, but for what a machine does not let it do."""
    lines = ["[containers]"]
    if not _may_raise_limits():  # as root in some sandboxes: limits may be lowered, and the default ones are higher
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        lines.append(f'default_ulimits = ["nofile={files}:{files}", "nproc=8192:8192"]')
    lines += ["[engine]"]
    if not shutil.which("systemctl") or not Path("/run/systemd/system").exists():
        lines.append('cgroup_manager = "cgroupfs"')
    if Path("/sys/fs/cgroup/unified").exists() and shutil.which("runc"):  # crun refuses both versions side by side
        lines.append('runtime = "runc"')
    lines += ["[network]", 'network_backend = "netavark"', f'network_config_dir = "{folder / "networks"}"']
    path = folder / "containers.conf"
    path.write_text("\n".join(lines) + "\n")
    return path


def _write_storage(folder: Path) -> Path:
    path = folder / "storage.conf"
    places = f'graphroot = "{folder / "images"}"\nrunroot = "{folder / "running"}"\n'
    path.write_text(f'[storage]\ndriver = "overlay"\n{places}')
    return path


def _may_raise_limits() -> bool:
    status = Path("/proc/self/status").read_text()
    (granted,) = (line.split()[1] for line in status.splitlines() if line.startswith("CapEff:"))
    return os.geteuid() != 0 or bool(int(granted, 16) & _CAP_SYS_RESOURCE)


def list_mounts(folder: Path) -> list[str]:
    """What a build needs to reach the registries of packages as this machine does: options of `podman build`.

    The files are mounted while commands run. No layer keeps them, so the image is what it would be elsewhere.
    """
    pip, npm = _read_pip_settings(), _read_npm_settings()
    mounts = {}
    inside = "/etc/ssl/builder.pem"
    authorities = [pip.pop("cert", ""), npm.pop("cafile", ""), os.environ.get("NODE_EXTRA_CA_CERTS", "")]
    if authority := next(filter(None, authorities), ""):
        mounts[authority] = inside
        pip["cert"], npm["cafile"] = inside, inside
    for settings, name, place, head in (
        (pip, "pip.conf", "/etc/pip.conf", "[global]\n"),
        (npm, "npmrc", "/root/.npmrc", ""),
    ):
        if settings:
            (folder / name).write_text(head + "".join(f"{key}={value}\n" for key, value in settings.items()))
            mounts[str(folder / name)] = place
    return [f"--volume={source}:{target}:ro" for source, target in mounts.items()]


def _read_pip_settings() -> dict[str, str]:
    done = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False)
    found = {}
    for line in done.stdout.splitlines():
        name, _, quoted = line.partition("=")
        value = quoted.strip("'\"")
        if (key := name.rpartition(".")[2]) in ("cert", "index-url", "proxy") and not value.startswith("file:"):
            found[key] = value
    return found


def _read_npm_settings() -> dict[str, str]:
    if not shutil.which("npm"):
        return {}
    found = {}
    for key in ("cafile", "registry", "proxy", "https-proxy"):
        done = subprocess.run(["npm", "config", "get", key], capture_output=True, text=True, check=False)
        value = done.stdout.strip()
        if value and value not in ("null", "undefined"):
            found[key] = value
    return found
