"""What `jiyi-server` makes of its arguments. tests/clients/test_wheel.py builds, installs and runs the wheel itself."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

WHEEL = Path(__file__).parents[2] / "deploy" / "wheel"
name_command = runpy.run_path(str(WHEEL / "jiyi_server.py"))["name_command"]


@pytest.mark.parametrize(
    ("given", "understood"),
    [
        ([], ["up"]),
        (["--port", "8001"], ["up", "--port", "8001"]),
        (["up", "--host", "0.0.0.0"], ["up", "--host", "0.0.0.0"]),
        (["create_token", "admin"], ["create_token", "admin"]),
        (["--version"], ["--version"]),
        (["--help"], ["--help"]),
    ],
)
def test_everything_is_started_unless_a_command_is_named(given: list[str], understood: list[str]) -> None:
    assert name_command(given) == understood
