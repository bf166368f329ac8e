"""Programs run as one. The small programs here stop their supervisor with TERM when they have seen enough."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from apps.embedded.supervisor import Program, Supervisor
from tests.support.processes import find_processes, wait_until

pytestmark = pytest.mark.long_except(
    "test_every_line_says_who_wrote_it",
)

PROJECT = Path(__file__).resolve().parents[2]
STOP = "; import os, signal; sys.stdout.flush(); os.kill(os.getppid(), signal.SIGTERM)"
SUPERVISE = """
import json, os, sys
from pathlib import Path
from apps.embedded.supervisor import Program, Supervisor
programs = [
    Program(name=name, command=[sys.executable, "-c", code], stop_seconds=float(sys.argv[2]))
    for name, code in json.loads(sys.argv[1]).items()
]
Supervisor(programs, cwd=Path.cwd(), env=os.environ, output=sys.stdout).run()
print("all stopped", flush=True)
"""


def run(*programs: tuple[str, str], output: io.StringIO | None = None) -> list[str]:
    """The lines a supervisor of these Python programs, by name and code, writes until it is stopped."""
    output = output or io.StringIO()
    commands = [Program(name=name, command=[sys.executable, "-c", code]) for name, code in programs]
    Supervisor(commands, cwd=PROJECT, env=os.environ, output=output).run()
    return output.getvalue().splitlines()


@contextmanager
def supervise(*, stop_seconds: float = 0.3, **programs: str) -> Iterator[subprocess.Popen[str]]:
    """A supervisor in a process of its own, killed in the end."""
    process = subprocess.Popen(
        [sys.executable, "-c", SUPERVISE, json.dumps(programs), str(stop_seconds)],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def test_every_line_says_who_wrote_it() -> None:
    lines = run(
        ("web", "import sys; print('to stderr', file=sys.stderr); print('你好\\n\\nGET /')" + STOP),
        ("worker", "import sys, time; sys.stdout.write('no newline'); sys.stdout.flush(); time.sleep(60)"),
    )
    assert [line for line in lines if line.startswith("web")] == [
        "web    | to stderr",
        "web    | 你好",
        "web    | ",
        "web    | GET /",
    ]
    assert {line for line in lines if not line.startswith("web")} <= {"worker | no newline"}


def test_what_is_no_utf8_does_no_harm() -> None:
    code = r"import sys; sys.stdout.buffer.write(b'\xff\xfe ok\n')"
    assert run(("web", code + STOP)) == ["web | \ufffd\ufffd ok"]


def test_a_full_disk_under_the_log_loses_lines_and_stops_nothing(tmp_path: Path) -> None:
    later = tmp_path / "later"
    code = (
        f"import pathlib, sys, time; print('lost', flush=True); time.sleep(0.5); pathlib.Path({str(later)!r}).touch()"
    )
    program = Program(name="web", command=[sys.executable, "-c", code + STOP])
    with suppress(OSError), Path("/dev/full").open("w") as full:  # closing it fails, too
        Supervisor([program], cwd=PROJECT, env=os.environ, output=full).run()
    assert later.exists()


def test_a_line_too_long_is_passed_on_in_pieces() -> None:
    lines = run(("web", "import sys; print('a' * 200_000)" + STOP))
    assert len(lines) > 1
    assert "".join(line.removeprefix("web | ") for line in lines) == "a" * 200_000


SHARE = """
import os, sys
from pathlib import Path
from apps.embedded.supervisor import Program, Supervisor
sys.loaded_before = "kept"
command = [sys.executable, "-m", "told", "--port", "8000"]
program = Program(name="worker-model", command=command, shares_memory=True)
Supervisor([program], cwd=Path(sys.argv[1]), env={**os.environ, "TOLD": "yes"}, output=sys.stdout).run()
"""
TOLD = """
import os, sys
from pathlib import Path
print(sys.loaded_before, sys.argv, Path.cwd(), os.environ["TOLD"], __name__)
print(Path("/proc/self/comm").read_text().strip(), os.getsid(0) == os.getpid())
if not Path("started").exists():
    Path("started").touch()
    sys.exit(3)
os.kill(os.getppid(), 15)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="programs run in copies of the process on Linux only")
def test_a_program_that_shares_memory_runs_in_a_copy_of_the_process_and_is_started_again(tmp_path: Path) -> None:
    (tmp_path / "told.py").write_text(TOLD)
    done = subprocess.run(
        [sys.executable, "-c", SHARE, str(tmp_path)],
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=200,
    )
    told = [
        f"kept ['{tmp_path}/told.py', '--port', '8000'] {tmp_path} yes __main__",
        "worker-model True",
    ]
    expected = [*told, "ended with 3; starting it again in 0.5 s", *told]
    assert done.stdout.splitlines() == [f"worker-model | {line}" for line in expected]


def test_a_program_that_ends_is_started_again_after_longer_and_longer_pauses(tmp_path: Path) -> None:
    counter = tmp_path / "starts"
    code = f"""
import os, pathlib, signal, sys
counter = pathlib.Path({str(counter)!r})
starts = int(counter.read_text()) + 1 if counter.exists() else 1
counter.write_text(str(starts))
if starts == 3:
    os.kill(os.getppid(), signal.SIGTERM)
sys.exit(starts)
"""
    assert run(("beat", code)) == [
        "beat | ended with 1; starting it again in 0.5 s",
        "beat | ended with 2; starting it again in 1 s",
    ]


def test_a_killed_program_is_replaced_and_the_others_stay() -> None:
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    with supervise(one=code, two=code) as supervisor:
        first = dict(read_line(supervisor).split(" | ") for _ in range(2))
        os.kill(int(first["one"]), signal.SIGKILL)
        assert read_line(supervisor) == "one | ended with -9; starting it again in 0.5 s"
        name, pid = read_line(supervisor).split(" | ")
        assert (name, pid == first["one"]) == ("one", False)
        os.kill(int(first["two"]), 0)
        supervisor.terminate()
        assert read_line(supervisor) == "all stopped"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_all_even_the_stubborn_and_their_children(number: signal.Signals, tmp_path: Path) -> None:
    stubborn = f"""
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", {str(tmp_path)!r}])
print("ready", flush=True)
time.sleep(60)
"""
    with supervise(stubborn=stubborn) as supervisor:
        assert read_line(supervisor) == "stubborn | ready"
        wait_until(lambda: len(find_processes(tmp_path)) == 3)
        supervisor.send_signal(number)
        assert read_line(supervisor) == "all stopped"
        assert supervisor.wait() == 0
    assert find_processes(tmp_path) == {}


def test_a_second_signal_does_not_wait() -> None:
    code = """
import signal, time
signal.signal(signal.SIGTERM, lambda *_: print("not yet", flush=True))
print("ready", flush=True)
while True: time.sleep(60)
"""
    with supervise(stop_seconds=3600, slow=code) as supervisor:
        assert read_line(supervisor) == "slow | ready"
        supervisor.terminate()
        assert read_line(supervisor) == "slow | not yet"
        supervisor.terminate()
        assert read_line(supervisor) == "all stopped"


def test_a_killed_supervisor_takes_its_programs_along(tmp_path: Path) -> None:
    code = f"import time; print('ready', flush=True); time.sleep(60) # {tmp_path}"
    with supervise(one=code, two=code) as supervisor:
        assert {read_line(supervisor), read_line(supervisor)} == {"one | ready", "two | ready"}
        assert len(find_processes(tmp_path)) == 3
        supervisor.kill()
        wait_until(lambda: find_processes(tmp_path) == {})


def test_it_stops_when_nobody_reads_its_output_any_more(tmp_path: Path) -> None:
    code = f"import time\nwhile True: print('line', flush=True); time.sleep(0.01) # {tmp_path}"
    with supervise(talker=code) as supervisor:
        assert read_line(supervisor) == "talker | line"
        assert supervisor.stdout is not None
        supervisor.stdout.close()
        supervisor.wait(timeout=200)
    assert find_processes(tmp_path) == {}


def test_a_program_steps_back_with_all_of_its_session() -> None:
    """Where sessions share the processor, the nice value of a process alone would count for nothing."""
    code = "import os, pathlib, sys; print(os.nice(0)); print(pathlib.Path('/proc/self/autogroup').read_text())" + STOP
    before = os.nice(0)  # the tests themselves may have been started with `nice`
    switch = Path("/proc/sys/kernel/sched_autogroup_enabled")
    if not switch.exists() or switch.read_text().strip() != "1":
        pytest.skip("this kernel does not share the processor out between sessions")
    output = io.StringIO()
    program = Program(name="calm", command=[sys.executable, "-c", code], nice=7)
    Supervisor([program], cwd=PROJECT, env=os.environ, output=output).run()
    process, session = (line.removeprefix("calm | ") for line in output.getvalue().splitlines()[:2])
    assert process == str(min(before + 7, 19))
    assert session.endswith(" nice 7")
