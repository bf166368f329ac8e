"""Programs that tests use and that are not everywhere: found beside Python or on the path, or the test is skipped."""

from __future__ import annotations

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


def run_tool(*command: str | Path, cwd: Path | None = None, timeout: float = 100) -> str:
    """Run a program and return all it printed; fail with that unless it ended well."""
    done = subprocess.run(
        command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=timeout
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}"
    return done.stdout
