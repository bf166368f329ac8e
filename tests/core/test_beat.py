"""Beat, which keeps in a file when each periodic task last ran."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]

# Beat, told to stop while it makes its file: at the first opening, as soon as there is an empty one.
STOPPED_EARLY = """
import os, signal
from pathlib import Path
from celery.beat import PersistentScheduler
from celery.__main__ import main

opened = []

def open_schedule(self, _open=PersistentScheduler._open_schedule):
    print("opened", flush=True)
    opened.append(self)
    if len(opened) == 1:
        Path(self.schedule_filename).touch()
        os.kill(os.getpid(), signal.SIGTERM)
        Path(self.schedule_filename).unlink()
    return _open(self)

PersistentScheduler._open_schedule = open_schedule
main()
"""


def test_beat_that_is_stopped_while_it_makes_its_file_ends_cleanly(tmp_path: Path) -> None:
    beat = ["--quiet", "--app=project", "beat", "--pidfile=", f"--schedule={tmp_path}/schedule"]
    done = subprocess.run(
        [sys.executable, "-c", STOPPED_EARLY, *beat],
        cwd=PROJECT,
        env={
            **os.environ,
            "JIYI_DATA_DIR": str(tmp_path),
            "REDIS_URL": "redis://127.0.0.1:1/0",
            "LOG_LEVEL": "WARNING",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "opened\n", "")
