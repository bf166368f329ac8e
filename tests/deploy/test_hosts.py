"""Hosts of a test's own network, and the refusals of the scripts for failing over."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.installations import DEPLOY, find_free_port, find_postgres_programs

pytestmark = pytest.mark.long

FAILOVER = DEPLOY / "failover"


def run_script(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = f"{find_postgres_programs()}:/usr/bin:/bin"
    command = [FAILOVER / name, *arguments]
    return subprocess.run(command, env={"PATH": path}, capture_output=True, text=True, check=False, timeout=200)


@pytest.mark.parametrize("name", ["make_standby.sh", "promote.sh", "rejoin.sh"])
def test_without_arguments_a_script_says_how_it_is_called(name: str) -> None:
    refused = run_script(name)
    assert refused.returncode == 2
    assert name in refused.stderr


@pytest.mark.parametrize("name", ["a-b", "a b", "a;b", ""])
def test_a_standby_with_an_odd_name_is_refused(name: str, tmp_path: Path) -> None:
    for script, arguments in (
        ("wait_for_standbys.sh", [name]),
        ("rejoin.sh", [str(tmp_path), "127.0.0.1", "1", name]),
        ("make_standby.sh", ["127.0.0.1", "1", name, str(tmp_path / "new")]),
    ):
        refused = run_script(script, *arguments)
        assert refused.returncode == 2
        assert f"Not a name: {name}" in refused.stderr


def test_a_folder_with_something_in_it_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    refused = run_script("make_standby.sh", "127.0.0.1", str(find_free_port("127.0.0.1")), "standby", str(tmp_path))
    assert refused.returncode == 1
    assert "is not empty" in refused.stderr


def test_a_standby_is_not_promoted_while_the_primary_answers(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "pg_isready").write_text("#!/bin/sh\nexit 1\n")  # it answers that it is starting
    (programs / "pg_ctl").write_text(f"#!/bin/sh\ntouch {tmp_path}/promoted\n")
    for program in programs.iterdir():
        program.chmod(0o755)
    command = [FAILOVER / "promote.sh", "folder", "db1", "5432"]
    environment = {"PATH": f"{programs}:/usr/bin:/bin"}
    refused = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=200)
    assert refused.returncode == 1
    assert "db1 still answers on port 5432" in refused.stderr
    assert not (tmp_path / "promoted").exists()
