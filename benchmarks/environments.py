"""Python environments that benchmarks need besides the product's own, installed once and kept in ``.test-output``.

mem0 and the plot library each get one, so that they cannot change a version that the product or its tests use.
"""

from __future__ import annotations

import fcntl
import os
import subprocess

from tests.clients.environments import INSTALLED, PROJECT, Environment, install_python

_REQUIREMENTS = PROJECT / "requirements"


class NotInstalled(Exception):
    """An environment that could not be installed; the message says which one and why."""


def install(name: str) -> Environment:
    """Return the environment of ``requirements/<name>.txt``, installed if it is not there yet.

    Several processes may ask at once: one installs, the others wait for it. Raises `NotInstalled`.
    """
    INSTALLED.mkdir(parents=True, exist_ok=True)
    with (INSTALLED / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            return install_python(name, lock=_REQUIREMENTS / f"{name}.txt")
        except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:
            raise NotInstalled(f"requirements/{name}.txt could not be installed:\n{error}") from error


def get_numpy_settings() -> dict[str, str]:
    """Return the variables by which numpy's libraries choose threads and kernels, for a process to compute as we do."""
    chosen = {name: value for name, value in os.environ.items() if name.startswith("OPENBLAS_")}
    return {**chosen, "OMP_NUM_THREADS": "1"}
