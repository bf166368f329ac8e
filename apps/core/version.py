"""The version of this code. ``pyproject.toml`` is the one place where it is written."""

from __future__ import annotations

import tomllib
from pathlib import Path

_PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"

VERSION: str = tomllib.loads(_PYPROJECT.read_text(encoding="utf-8"))["project"]["version"]
