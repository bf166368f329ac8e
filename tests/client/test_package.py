"""The package: a wheel with all of it, checked strictly by mypy."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import jiyi

PACKAGE = Path(__file__).parents[2] / "clients" / "python"


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """The wheel, built without a network: uv has the build backend in itself."""
    options = ["--offline", "--wheel", "--quiet", "--out-dir", str(tmp_path)]
    build = [sys.executable, "-m", "uv", "build", *options, str(PACKAGE)]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.glob("*.whl")
    return path


def test_the_wheel_has_every_module_and_the_types_and_the_command(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        folder = next(name for name in names if name.endswith("METADATA")).rpartition("/")[0]
        metadata = archive.read(f"{folder}/METADATA").decode()
        entry_points = archive.read(f"{folder}/entry_points.txt").decode()
    modules = {path.relative_to(PACKAGE / "src").as_posix() for path in (PACKAGE / "src").rglob("*.py")}
    assert names >= modules | {"jiyi/py.typed"}
    assert "jiyi = jiyi.cli:run" in entry_points.replace(" ", "").replace("=", " = ")
    assert wheel.name == f"jiyi_client-{jiyi.__version__}-py3-none-any.whl"
    assert "Name: jiyi-client" in metadata
    required = [line for line in metadata.splitlines() if line.startswith("Requires-Dist") and "extra" not in line]
    assert required == ["Requires-Dist: httpx2>=2"]


@pytest.mark.long
def test_the_client_needs_nothing_but_its_one_library():
    others = {"click", "rich", "pydantic", "django"}
    code = f"import sys, jiyi, jiyi.types, jiyi.errors; print(*sorted({others} & {{*sys.modules}}))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(PACKAGE / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == ""
