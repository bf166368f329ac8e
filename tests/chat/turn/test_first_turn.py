"""A web process has loaded what its first turn takes before it serves: nobody waits for modules to be read."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.workers import PROJECT

PROGRAM = """
import sys, project.asgi
from kombu.exceptions import OperationalError
before = set(sys.modules)
from apps.core.text.keywords import stem
from celery import current_app
assert stem("memories") == "memori"
try:
    current_app.send_task("nobody", retry=False, ignore_result=True)
except OperationalError:
    print("not sent")
print(sorted(name for name in set(sys.modules) - before if not name.startswith("encodings.")))
"""


@pytest.mark.long
@pytest.mark.usefixtures("servers")
def test_a_web_process_has_loaded_what_its_first_turn_takes() -> None:
    """A broker that nobody listens for: all that sending loads is loaded by then."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=PROJECT,
        env={**os.environ, "REDIS_URL": "redis://127.0.0.1:1/0"},
        capture_output=True,
        text=True,
        check=True,
        timeout=200,
    )
    assert done.stdout.split("\n")[:2] == ["not sent", "[]"]
