"""Programs that tests use and that are not everywhere: found beside Python or on the path, or the test is skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def find_tool(name: str, *, reason: str) -> str:
    """Return the path of the program `name`; skip the test where there is none, saying how to get it."""
    places = f"{Path(sys.executable).parent}:/usr/sbin:/sbin"
    found = shutil.which(name) or shutil.which(name, path=places)
    if found is None:
        pytest.skip(f"{name} is not here: {reason}")
    return found


def install_debian(*packages: str) -> None:
    """Install packages of Debian, if this is root on a Debian; what is there already is left alone."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
        subprocess.run(["apt-get", "-qq", *command], env=environment, capture_output=True, check=False, timeout=300)


def find_or_install(name: str, *, package: str) -> str:
    """Return the path of the program `name` of Debian's `package`, which root installs; skip the test without it."""
    path = f"{os.environ['PATH']}:/usr/sbin"
    if shutil.which(name, path=path) is None:
        install_debian(package)
    found = shutil.which(name, path=path)
    if found is None:
        pytest.skip(f"{name} is not here: apt-get install {package}, or run this as root on Debian")
    return found


def run_tool(*command: str | Path, cwd: Path | None = None, timeout: float = 200) -> str:
    """Run a program and return all it printed; fail with that unless it ended well."""
    done = subprocess.run(
        command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=timeout
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}"
    return done.stdout
